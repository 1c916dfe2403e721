-- How far has the rollback come that SMON does with parallel servers?
-- every: demand
-- needs: GV_$FAST_START_TRANSACTIONS
-- pack: none
SELECT
    inst_id,
    state,
    undoblocksdone,
    undoblockstotal
FROM gv$fast_start_transactions

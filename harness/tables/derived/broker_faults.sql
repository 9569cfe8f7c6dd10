-- The fault windows in which a broker was gone for the others: dead, paused, or cut off.

SELECT * FROM {fault_windows} WHERE broker_gone

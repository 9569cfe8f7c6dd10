-- Classic requests change nothing in a KIP-848 group
-- A classic Heartbeat or SyncGroup as a member of KIP-848 is answered UNKNOWN_MEMBER_ID (25), and a
-- JoinGroup of another protocol type INCONSISTENT_GROUP_PROTOCOL (23).
-- why: An old client that uses a newer client's member id by mistake changes nothing.
-- source: GroupMetadataManager.throwIfMemberDoesNotUseClassicProtocol; KIP-848, Upgrade
-- id: X40-classic | rows: classic requests to a KIP-848 group | unit: error code | measured: in the
--   answer | low: got another error code | high: got another error code | protocols: consumer |
--   kind: broker

{HEARTBEATS}, classic AS (
    SELECT subject, sent_at, error_code, api,
           IF(api = 'JOIN_GROUP', :INCONSISTENT_GROUP_PROTOCOL, :UNKNOWN_MEMBER_ID) AS due
    FROM met
    WHERE api IN ('HEARTBEAT', 'SYNC_GROUP') AND known
       OR api = 'JOIN_GROUP' AND size > 0 AND protocol_type <> 'consumer'
)
SELECT subject, sent_at AS at, error_code AS measured, due AS bound_low, due AS bound_high,
       concat('answered ', error_code, ' to ', api) AS note
FROM classic

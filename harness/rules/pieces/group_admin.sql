-- What administrators' calls say of groups, and what they may do to them.

-- let DESCRIBED
WITH described AS (
    SELECT p.*, CAST(get_json_object(p.request, '$.version') AS INT) AS version,
           get_json_object(p.answer, '$.groups[0].groupState') AS described_as,
           get_json_object(p.answer, '$.groups[0].protocolType') AS protocol_type,
           get_json_object(p.answer, '$.groups[0].protocolData') AS assignor,
           from_json(get_json_object(p.answer, '$.groups[0].members'),
                     'array<struct<memberId:string,groupInstanceId:string,clientId:string,'
                     || 'clientHost:string,memberMetadata:string,memberAssignment:string>>')
               AS members
    FROM {probed} p WHERE p.api = 'DESCRIBE_GROUPS'
)

-- let NOTICED_MS = 5000
--   how much later than a new coordinator the observer may see that it leads the group's partition

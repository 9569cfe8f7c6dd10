-- It is not known what a library has handed on of what it fetched; P2 is about the fetches.

SELECT member, topic, partition, at, first_offset AS position FROM {effects} WHERE false

-- Memories under FTS5: first the user's own, then those of the others, which only count in the
-- statistics. Fields that a baseline leaves out are empty, and then neither match nor count in the
-- length of a memory.

-- unicode61: words as they are written
CREATE VIRTUAL TABLE memories USING fts5(
    id UNINDEXED, content, tags, keywords, category, tokenize = 'unicode61'
);

-- porter: words without their endings
CREATE VIRTUAL TABLE memories USING fts5(
    id UNINDEXED, content, tags, keywords, category, tokenize = 'porter unicode61'
);

-- add: one memory
INSERT INTO memories (id, content, tags, keywords, category)
VALUES (:id, :content, :tags, :keywords, :category);

-- match: the best matches of the user's own; FTS5 gives the better ones the smaller number
SELECT id, -bm25(memories) FROM memories
WHERE memories MATCH :words AND rowid <= :own
ORDER BY bm25(memories), id
LIMIT :pool;

-- size: the bytes that the index and the texts take up
SELECT page_count * page_size FROM pragma_page_count, pragma_page_size;

"""The SQL of the stores in SQLite and PostgreSQL: one schema, one set of statements, each read by both.

`{schema}` is a schema of PostgreSQL, and `main` in SQLite. A parameter is written `:name`. Ids are `escaped`; `due` is
when time moves a row, or since when it is as it is, so that one index serves lists, counts and sweeps; `number` is the
number of the row of the history that tells of its filing.
"""

SCHEMA = (
    """CREATE TABLE IF NOT EXISTS {schema}.head (
        id INTEGER PRIMARY KEY, seq BIGINT NOT NULL, link TEXT NOT NULL)""",
    "INSERT INTO {schema}.head (id, seq, link) VALUES (1, 0, '') ON CONFLICT DO NOTHING",
    """CREATE TABLE IF NOT EXISTS {schema}.history (
        seq BIGINT PRIMARY KEY, conversation_id TEXT NOT NULL, call_id TEXT NOT NULL,
        entry TEXT NOT NULL, link TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS {schema}.approvals (
        conversation_id TEXT NOT NULL, call_id TEXT NOT NULL, number BIGINT NOT NULL, state TEXT NOT NULL,
        due DOUBLE PRECISION NOT NULL, record TEXT NOT NULL, PRIMARY KEY (conversation_id, call_id))""",
    """CREATE TABLE IF NOT EXISTS {schema}.pauses (
        pause_id TEXT PRIMARY KEY, number BIGINT NOT NULL, conversation_id TEXT NOT NULL,
        facts TEXT NOT NULL, messages BYTEA NOT NULL)""",
)

INDEXES = {
    "history_of_call": "history (conversation_id, call_id, seq)",
    "approvals_of_conversation": "approvals (conversation_id, state, due, number)",
    "approvals_by_due": "approvals (state, due, number)",
    "pauses_of_conversation": "pauses (conversation_id, number)",
}

HEAD = "SELECT seq, link FROM {schema}.head WHERE id = 1"
MOVE_HEAD = "UPDATE {schema}.head SET seq = :seq, link = :link WHERE id = 1"

APPEND = """INSERT INTO {schema}.history (seq, conversation_id, call_id, entry, link)
    VALUES (:seq, :conversation_id, :call_id, :entry, :link)"""
ROWS = "SELECT seq, entry, link FROM {schema}.history WHERE seq > :after ORDER BY seq LIMIT :limit"
ROWS_OF_CALL = """SELECT seq, entry, link FROM {schema}.history
    WHERE conversation_id = :conversation_id AND call_id = :call_id AND seq > :after ORDER BY seq LIMIT :limit"""

READ = "SELECT record FROM {schema}.approvals WHERE conversation_id = :conversation_id AND call_id = :call_id"
INSERT = """INSERT INTO {schema}.approvals (conversation_id, call_id, number, state, due, record)
    VALUES (:conversation_id, :call_id, :number, :state, :due, :record)"""
UPDATE = """UPDATE {schema}.approvals SET state = :state, due = :due, record = :record
    WHERE conversation_id = :conversation_id AND call_id = :call_id"""
COUNT = "SELECT count(*) FROM {schema}.approvals WHERE state = :state AND due > :now"

LIST = """SELECT due, number, record FROM {schema}.approvals
    WHERE state = :state AND due > :after AND due <= :until ORDER BY due, number LIMIT :limit"""
LIST_OF_CONVERSATION = """SELECT due, number, record FROM {schema}.approvals
    WHERE conversation_id = :conversation_id AND state = :state AND due > :after AND due <= :until
    ORDER BY due, number LIMIT :limit"""

READ_PAUSE = "SELECT facts, messages FROM {schema}.pauses WHERE pause_id = :pause_id"
LATEST_PAUSE = """SELECT facts, messages FROM {schema}.pauses
    WHERE conversation_id = :conversation_id ORDER BY number DESC LIMIT 1"""
NEXT_PAUSE = "SELECT coalesce(max(number), 0) + 1 FROM {schema}.pauses"
INSERT_PAUSE = """INSERT INTO {schema}.pauses (pause_id, number, conversation_id, facts, messages)
    VALUES (:pause_id, :number, :conversation_id, :facts, :messages)"""
UPDATE_PAUSE = "UPDATE {schema}.pauses SET facts = :facts WHERE pause_id = :pause_id"

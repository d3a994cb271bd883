"""The scripts that Redis runs: the law once more, where nothing can come in between.

Keys, after the prefix: each has exactly two colons, and no first word ends with another, so that no key of one prefix
can be a key of another. Ids are `escaped` and hold no colon.

| | |
|---|---|
| `call:CONVERSATION:CALL` | the call, a hash |
| `steps:CONVERSATION:CALL` | the numbers of its rows in the history |
| `index:STATE:CONVERSATION`, `index:STATE:*` | calls stored in that state, by when they fall due |
| `log::`, `head::` | the history, a stream, and its last number and link |
| `pause:ID:`, `pauses:CONVERSATION:` | a pause, and the ids of a conversation's pauses |
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from toolhaft.approvals.moves import TIME
from toolhaft.approvals.record import canonical
from toolhaft.approvals.states import BY_TIME, FINAL, OPEN, WAYS, State

FIELDS = (
    "body", "state", "created", "expires", "changed", "digest", "decisions", "owner", "until", "result", "error"
)  # fmt: skip
"""Of a call, in the order in which a script answers them."""

PAUSE_FIELDS = ("facts", "messages", "state", "owner", "until", "created")


def _lua_set(names: frozenset[State]) -> str:
    return "{" + ", ".join(f"{name.value} = true" for name in sorted(names)) + "}"


_LAW = "\n".join(
    [
        "local WAYS = {",
        *(f"  ['{source.value} {target.value}'] = true," for source, target in WAYS),
        "}",
        "local BY_TIME = {" + ", ".join(f"{a.value} = '{b.value}'" for a, b in BY_TIME.items()) + "}",
        f"local OPEN, FINAL = {_lua_set(OPEN)}, {_lua_set(FINAL)}",
        f"local TIME = '{canonical(TIME)}'",
        "local FIELDS = {" + ", ".join(f"'{name}'" for name in FIELDS) + "}",
        "local PAUSE_FIELDS = {" + ", ".join(f"'{name}'" for name in PAUSE_FIELDS) + "}",
    ]
)

_COMMON = """
local prefix, now, keep_seconds = ARGV[1], tonumber(ARGV[2]), ARGV[3]
if not now then
  local t = redis.call('TIME')
  now = t[1] + t[2] / 1e6
end

local function text(number) return string.format('%.17g', number) end
local function key(kind, rest) return prefix .. kind .. ':' .. rest end

-- What the call is, with what time has done to it. `from` is the state under which it is stored.
local function load(id)
  local v = redis.call('HMGET', key('call', id),
    'state', 'due', 'number', 'digest', 'decision', 'owner', 'created', 'expires', 'ids')
  if not v[1] then return nil end
  local r = {id = id, from = v[1], state = v[1], due = tonumber(v[2]), number = v[3], digest = v[4], decision = v[5],
    owner = v[6], created = tonumber(v[7]), expires = tonumber(v[8]), ids = v[9], steps = {}, set = {}}
  if BY_TIME[r.state] and now >= r.due then
    r.state = BY_TIME[r.state]
    r.steps[1] = {r.state, r.due, TIME, '""'}
  end
  return r
end

local function answer(status, id)
  return {status, text(now), unpack(redis.call('HMGET', key('call', id), unpack(FIELDS)))}
end

-- One step further; nothing is written before `save`.
local function step(r, target, by, reason)
  if not WAYS[r.state .. ' ' .. target] then error(r.state .. ' cannot become ' .. target) end
  r.state = target
  r.steps[#r.steps + 1] = {target, now, by, reason}
end

local function set(r, name, value) r.set[#r.set + 1] = name; r.set[#r.set + 1] = value end

local function save(r)
  local head = redis.call('HMGET', key('head', ':'), 'seq', 'link')
  local seq, link = tonumber(head[1] or '0'), head[2] or ''
  for _, s in ipairs(r.steps) do
    seq = seq + 1
    local row = '{"at":' .. text(s[2]) .. ',"by":' .. s[3] .. ',' .. r.ids .. ',"digest":"' .. r.digest ..
      '","reason":' .. s[4] .. ',"seq":' .. seq .. ',"state":"' .. s[1] .. '"}'
    link = redis.sha1hex(link .. row)
    redis.call('XADD', key('log', ':'), seq .. '-1', 'entry', row, 'link', link)
    redis.call('RPUSH', key('steps', r.id), seq)
    r.due = s[2]
  end
  redis.call('HSET', key('head', ':'), 'seq', seq, 'link', link)
  set(r, 'changed', text(r.due))
  if r.until_ and r.state == 'executing' then r.due = r.until_
  elseif BY_TIME[r.state] then r.due = r.expires end
  r.number = r.number or string.format('%016d', seq)
  redis.call('HSET', key('call', r.id), 'state', r.state, 'due', text(r.due), 'number', r.number, unpack(r.set))
  local member, conversation = r.number .. ':' .. r.id, r.id:match('^[^:]*')
  for _, c in ipairs({conversation, '*'}) do
    if r.from and r.from ~= r.state then redis.call('ZREM', key('index', r.from .. ':' .. c), member) end
    redis.call('ZADD', key('index', r.state .. ':' .. c), text(r.due), member)
  end
  if FINAL[r.state] then redis.call('EXPIRE', key('call', r.id), keep_seconds) end
end

local function lease(r, owner, by, seconds)
  step(r, 'executing', by, '""')
  r.until_ = now + seconds
  set(r, 'owner', owner)
  set(r, 'until', text(r.until_))
end
"""


@dataclass(frozen=True, slots=True)
class Script:
    """A script, and the name by which the server knows it once it has run."""

    text: str
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha", hashlib.sha1(self.text.encode()).hexdigest())


def _script(body: str) -> Script:
    return Script(_LAW + _COMMON + body)


GET = _script("return answer('ok', ARGV[4])")

DECIDE = _script("""
local _, _, _, id, decision, target, tail, digest, result, failure, by, reason, owner, owner_text, seconds =
  unpack(ARGV)
local r = load(id)
local again = r and r.decision == decision
if not again and not (r and OPEN[r.state] and WAYS[r.state .. ' ' .. target]) then return answer('decided', id) end
if again then
  if owner == '' or (r.state == 'executing' and r.owner == owner) then return answer('ok', id) end
  if r.state ~= 'approved' then return answer('cannot', id) end
else
  if digest ~= '' then r.digest = digest end
  step(r, target, by, reason)
  local before = redis.call('HGET', key('call', id), 'decisions')
  local entry = '{"at":' .. text(now) .. tail
  set(r, 'decisions', (before and before ~= '') and before .. ',' .. entry or entry)
  set(r, 'decision', decision)
  set(r, 'digest', r.digest)
  if target == 'approved' then
    r.expires = now + (r.expires - r.created)
    set(r, 'expires', text(r.expires))
    set(r, 'owner', '')
    set(r, 'until', '')
  elseif target == 'done' then set(r, 'result', result)
  elseif target == 'failed' then set(r, 'error', failure) end
end
if owner ~= '' then lease(r, owner, owner_text, tonumber(seconds)) end
save(r)
return answer('ok', id)
""")

BEGIN = _script("""
local _, _, _, id, digest, owner, owner_text, seconds = unpack(ARGV)
local r = load(id)
if r and r.digest ~= digest then return answer('digest', id) end
if r and r.state == 'executing' and r.owner == owner then return answer('ok', id) end
if not r or r.state ~= 'approved' then return answer('cannot', id) end
lease(r, owner, owner_text, tonumber(seconds))
save(r)
return answer('ok', id)
""")

RENEW = _script("""
local _, _, _, id, owner, seconds = unpack(ARGV)
local r = load(id)
if not r or r.state ~= 'executing' or r.owner ~= owner then return answer('lease', id) end
local due = text(now + tonumber(seconds))
redis.call('HSET', key('call', id), 'until', due, 'due', due)
for _, c in ipairs({id:match('^[^:]*'), '*'}) do
  redis.call('ZADD', key('index', 'executing:' .. c), due, r.number .. ':' .. id)
end
return answer('ok', id)
""")

FINISH = _script("""
local _, _, _, id, owner, owner_text, target, result, failure = unpack(ARGV)
local r = load(id)
if not r or r.owner ~= owner then return answer('lease', id) end
if r.state == 'done' or r.state == 'failed' then return answer('ok', id) end
step(r, target, owner_text, '""')
set(r, 'result', result)
set(r, 'error', failure)
save(r)
return answer('ok', id)
""")

LIST = _script("""
local _, _, _, conversation, limit = unpack(ARGV)
local found = {}
for i = 6, #ARGV, 2 do
  local low, high = '-inf', '+inf'
  if ARGV[i + 1] == 'past' then high = text(now)
  elseif BY_TIME[ARGV[i]] then low = '(' .. text(now) end
  local index = key('index', ARGV[i] .. ':' .. conversation)
  local members = redis.call('ZRANGEBYSCORE', index, low, high, 'WITHSCORES', 'LIMIT', 0, limit)
  for j = 1, #members, 2 do
    found[#found + 1] = {tonumber(members[j + 1]), members[j], index}
  end
end
if #ARGV > 7 then
  table.sort(found, function(a, b) if a[1] ~= b[1] then return a[1] < b[1] end return a[2] < b[2] end)
end
local answers = {}
for _, f in ipairs(found) do
  if #answers == tonumber(limit) then break end
  local id = f[2]:match('^%d+:(.*)$')
  if redis.call('EXISTS', key('call', id)) == 1 then answers[#answers + 1] = answer('ok', id)
  else redis.call('ZREM', f[3], f[2]) end
end
return answers
""")

EXPIRE = _script("""
local answers = {}
for state in pairs(BY_TIME) do
  local index = key('index', state .. ':*')
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', index, '-inf', text(now), 'LIMIT', 0, 200)) do
    local r = load(member:match('^%d+:(.*)$'))
    if r then
      save(r)
      answers[#answers + 1] = answer('ok', r.id)
    else redis.call('ZREM', index, member) end
  end
end
for state in pairs(FINAL) do
  local index, long_ago = key('index', state .. ':*'), text(now - keep_seconds)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', index, '-inf', long_ago, 'LIMIT', 0, 200)) do
    local conversation = member:match('^%d+:([^:]*)')
    redis.call('ZREM', index, member)
    redis.call('ZREM', key('index', state .. ':' .. conversation), member)
  end
end
return answers
""")

FILE = _script("""
local _, _, _, ttl, max_pending, token, pause, conversation, facts, messages, count = unpack(ARGV, 1, 11)
local FIRST, WIDTH = 12, 6
count = tonumber(count)
if pause ~= '' then
  local known = redis.call('HGET', key('pause', pause .. ':'), 'token')
  if known then return {known == token and 'ok' or 'pause', text(now)} end
end
for i = 0, count - 1 do
  local known = redis.call('HGET', key('call', ARGV[FIRST + i * WIDTH]), 'token')
  if known then return {known == token and 'ok' or 'duplicate', text(now), i} end
end
local pending = redis.call('ZCOUNT', key('index', 'pending:*'), '(' .. text(now), '+inf')
if max_pending ~= '' and pending + count > tonumber(max_pending) then return {'full', text(now), pending} end
for i = 0, count - 1 do
  local id, body, ids, digest, by, reason = unpack(ARGV, FIRST + i * WIDTH, FIRST + i * WIDTH + WIDTH - 1)
  local r = {id = id, state = 'pending', digest = digest, ids = ids, expires = now + ttl, set = {}}
  r.steps = {{'pending', now, by, reason}}
  for name, value in pairs({body = body, ids = ids, digest = digest, created = text(now), expires = text(r.expires),
      token = token, decisions = '', result = 'null', error = 'null'}) do set(r, name, value) end
  save(r)
end
if pause ~= '' then
  redis.call('HSET', key('pause', pause .. ':'), 'facts', facts, 'messages', messages, 'state', 'waiting',
    'created', text(now), 'token', token)
  redis.call('RPUSH', key('pauses', conversation .. ':'), pause)
end
return {'ok', text(now)}
""")

_PAUSE = """
local pause = key('pause', ARGV[4] .. ':')
local v = redis.call('HMGET', pause, 'state', 'owner', 'until')
local state, owner, due = v[1], v[2], tonumber(v[3] or '')
if state == 'resuming' and now >= due then state = 'waiting' end
local function whole(status)
  return {status, text(now), unpack(redis.call('HMGET', pause, unpack(PAUSE_FIELDS)))}
end
"""

GET_PAUSE = _script(_PAUSE + "return whole('ok')")

LATEST_PAUSE = _script("""
local latest = redis.call('LINDEX', key('pauses', ARGV[4] .. ':'), -1)
if not latest then return {'none', text(now)} end
return {'ok', text(now), unpack(redis.call('HMGET', key('pause', latest .. ':'), unpack(PAUSE_FIELDS)))}
""")

TAKE_PAUSE = _script(
    _PAUSE
    + """
if state ~= 'waiting' and not (state == 'resuming' and owner == ARGV[5]) then return whole('taken') end
redis.call('HSET', pause, 'state', 'resuming', 'owner', ARGV[5], 'until', text(now + tonumber(ARGV[6])))
return whole('ok')
"""
)

FINISH_PAUSE = _script(
    _PAUSE
    + """
if not state or owner ~= ARGV[5] then return whole('lease') end
if v[1] == 'continued' then return whole('ok') end
if ARGV[6] == 'continued' then
  redis.call('HSET', pause, 'state', 'continued')
  redis.call('EXPIRE', pause, keep_seconds)
else
  redis.call('HSET', pause, 'state', 'waiting')
  redis.call('HDEL', pause, 'owner', 'until')
end
return whole('ok')
"""
)

ROWS = _script("""
local _, _, _, after, limit, id = unpack(ARGV)
local rows = {}
local function take(from, to)
  for _, e in ipairs(redis.call('XRANGE', key('log', ':'), from, to, 'COUNT', limit)) do
    rows[#rows + 1] = {e[1], e[2][2], e[2][4]}
  end
end
if id == '' then take(after + 1 .. '-0', '+')
else
  for _, seq in ipairs(redis.call('LRANGE', key('steps', id), 0, -1)) do
    if tonumber(seq) > tonumber(after) and #rows < tonumber(limit) then take(seq .. '-0', seq .. '-9') end
  end
end
return rows
""")

"""The scripts that Redis runs: the law once more, where nothing can come in between.

Keys, after the prefix: each has exactly two colons, and no first word ends with another, so that no key of one prefix
can be a key of another. Ids are `escaped` and hold no colon.

| | |
|---|---|
| `call:CONVERSATION:CALL` | the call, a hash |
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

SHOWN = (
    "state", "body", "created", "expires", "changed", "digest", "decisions", "owner", "until", "result", "error"
)  # fmt: skip
"""Of a call, in the order in which a script answers them."""

_KEPT = (*SHOWN, "due", "number", "numbers", "decision", "ids")

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
        "local FIELDS = {" + ", ".join(f"'{name}'" for name in _KEPT) + "}",
        f"local SHOWN = {len(SHOWN)}",
        "local PAUSE_FIELDS = {" + ", ".join(f"'{name}'" for name in PAUSE_FIELDS) + "}",
    ]
)

_COMMON = """
local prefix, now, keep_seconds = ARGV[1], tonumber(ARGV[2]), ARGV[3]
if not now then
  local t = redis.call('TIME')
  now = t[1] + t[2] / 1e6
end

-- The words that the store hands in, and a reply: one text each, since a client takes long over many parts.
local W = {}
for word in string.gmatch(ARGV[4] .. '\\n', '([^\\n]*)\\n') do W[#W + 1] = word end

local function text(number) return string.format('%.17g', number) end
local function key(kind, rest) return prefix .. kind .. ':' .. rest end

-- What the call is, with what time has done to it. `from` is the state under which it is stored.
local function load(id)
  local v = redis.call('HMGET', key('call', id), unpack(FIELDS))
  if not v[1] then return nil end
  local r = {id = id, set = {}, steps = {}}
  for i, name in ipairs(FIELDS) do r[name] = v[i] or '' end
  r.from, r.due = r.state, tonumber(r.due)
  if BY_TIME[r.state] and now >= r.due then
    r.state = BY_TIME[r.state]
    r.steps[1] = {r.state, r.due, TIME, '""'}
  end
  return r
end

-- The record as it is stored: what has become of it by time alone, whoever reads it sees for himself.
local function answer(status, r)
  if not r then return status .. '\\n' .. text(now) end
  local parts = {status, text(now)}
  for i = 1, SHOWN do parts[i + 2] = r[FIELDS[i]] end
  parts[3] = r.from
  return table.concat(parts, '\\n')
end

-- One step further; nothing is written before `save`.
local function step(r, target, by, reason)
  if not WAYS[r.state .. ' ' .. target] then error(r.state .. ' cannot become ' .. target) end
  r.state = target
  r.steps[#r.steps + 1] = {target, now, by, reason}
end

local function set(r, name, value)
  r[name] = value
  r.set[#r.set + 1] = name
  r.set[#r.set + 1] = value
end

local function save(r)
  local head = redis.call('HMGET', key('head', ':'), 'seq', 'link')
  local seq, link = tonumber(head[1] or '0'), head[2] or ''
  local numbers = {r.numbers}
  for _, s in ipairs(r.steps) do
    seq = seq + 1
    local row = '{"at":' .. text(s[2]) .. ',"by":' .. s[3] .. ',' .. r.ids .. ',"digest":"' .. r.digest ..
      '","reason":' .. s[4] .. ',"seq":' .. seq .. ',"state":"' .. s[1] .. '"}'
    link = redis.sha1hex(link .. row)
    redis.call('XADD', key('log', ':'), seq .. '-1', 'entry', row, 'link', link)
    numbers[#numbers + 1] = seq
    r.changed = text(s[2])
  end
  redis.call('HSET', key('head', ':'), 'seq', seq, 'link', link)
  if r.state == 'executing' then r.due = tonumber(r['until'])
  elseif BY_TIME[r.state] then r.due = tonumber(r.expires)
  else r.due = tonumber(r.changed) end
  r.number = r.number or string.format('%016d', seq)
  redis.call('HSET', key('call', r.id), 'state', r.state, 'due', text(r.due), 'number', r.number,
    'changed', r.changed, 'numbers', table.concat(numbers, ' '), unpack(r.set))
  local member, conversation = r.number .. ':' .. r.id, r.id:match('^[^:]*')
  for _, c in ipairs({conversation, '*'}) do
    if r.from and r.from ~= r.state then redis.call('ZREM', key('index', r.from .. ':' .. c), member) end
    redis.call('ZADD', key('index', r.state .. ':' .. c), text(r.due), member)
  end
  if FINAL[r.state] then redis.call('EXPIRE', key('call', r.id), keep_seconds) end
  r.from = r.state
end

local function lease(r, owner, by, seconds)
  step(r, 'executing', by, '""')
  set(r, 'owner', owner)
  set(r, 'until', text(now + seconds))
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


GET = _script("return answer('ok', load(W[1]))")

DECIDE = _script("""
local id, decision, target, tail, digest, result, failure, by, reason, owner, seconds = unpack(W)
local r = load(id)
local again = r and r.decision == decision
if not again and not (r and OPEN[r.state] and WAYS[r.state .. ' ' .. target]) then return answer('decided', r) end
if again then
  if owner == '' or (r.state == 'executing' and r.owner == owner) then return answer('ok', r) end
  if r.state ~= 'approved' then return answer('cannot', r) end
else
  if digest ~= '' then set(r, 'digest', digest) end
  step(r, target, by, reason)
  local entry = '{"at":' .. text(now) .. tail
  set(r, 'decisions', r.decisions ~= '' and r.decisions .. ',' .. entry or entry)
  set(r, 'decision', decision)
  if target == 'approved' then
    set(r, 'expires', text(now + (r.expires - r.created)))
    set(r, 'owner', '')
    set(r, 'until', '')
  elseif target == 'done' then set(r, 'result', result)
  elseif target == 'failed' then set(r, 'error', failure) end
end
if owner ~= '' then lease(r, owner, owner, tonumber(seconds)) end
save(r)
return answer('ok', r)
""")

BEGIN = _script("""
local id, digest, owner, seconds = unpack(W)
local r = load(id)
if r and r.digest ~= digest then return answer('digest', r) end
if r and r.state == 'executing' and r.owner == owner then return answer('ok', r) end
if not r or r.state ~= 'approved' then return answer('cannot', r) end
lease(r, owner, owner, tonumber(seconds))
save(r)
return answer('ok', r)
""")

RENEW = _script("""
local id, owner, seconds = unpack(W)
local r = load(id)
if not r or r.state ~= 'executing' or r.owner ~= owner then return answer('lease', r) end
local due = text(now + tonumber(seconds))
redis.call('HSET', key('call', id), 'until', due, 'due', due)
for _, c in ipairs({id:match('^[^:]*'), '*'}) do
  redis.call('ZADD', key('index', 'executing:' .. c), due, r.number .. ':' .. id)
end
r['until'] = due
return answer('ok', r)
""")

FINISH = _script("""
local id, owner, target, result, failure = unpack(W)
local r = load(id)
if not r or r.owner ~= owner then return answer('lease', r) end
if r.state == 'done' or r.state == 'failed' then return answer('ok', r) end
step(r, target, owner, '""')
set(r, 'result', result)
set(r, 'error', failure)
save(r)
return answer('ok', r)
""")

LIST = _script("""
local conversation, limit = unpack(W)
local found = {}
for i = 3, #W, 2 do
  local low, high = '-inf', '+inf'
  if W[i + 1] == 'past' then high = text(now)
  elseif BY_TIME[W[i]] then low = '(' .. text(now) end
  local index = key('index', W[i] .. ':' .. conversation)
  local members = redis.call('ZRANGEBYSCORE', index, low, high, 'WITHSCORES', 'LIMIT', 0, limit)
  for j = 1, #members, 2 do
    found[#found + 1] = {tonumber(members[j + 1]), members[j], index}
  end
end
if #W > 4 then
  table.sort(found, function(a, b) if a[1] ~= b[1] then return a[1] < b[1] end return a[2] < b[2] end)
end
local answers = {}
for _, f in ipairs(found) do
  if #answers == tonumber(limit) then break end
  local r = load(f[2]:match('^%d+:(.*)$'))
  if r then answers[#answers + 1] = answer('ok', r)
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
      answers[#answers + 1] = answer('ok', r)
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
local ttl, max_pending, token, pause, conversation, facts, messages, count = unpack(W, 1, 8)
local FIRST, WIDTH = 9, 6
count = tonumber(count)
if pause ~= '' then
  local known = redis.call('HGET', key('pause', pause .. ':'), 'token')
  if known then return known == token and 'ok' or 'pause' end
end
for i = 0, count - 1 do
  local known = redis.call('HGET', key('call', W[FIRST + i * WIDTH]), 'token')
  if known then return known == token and 'ok' or 'duplicate\\n' .. i end
end
local pending = redis.call('ZCOUNT', key('index', 'pending:*'), '(' .. text(now), '+inf')
if max_pending ~= '' and pending + count > tonumber(max_pending) then return 'full\\n' .. pending end
for i = 0, count - 1 do
  local id, body, ids, digest, by, reason = unpack(W, FIRST + i * WIDTH, FIRST + i * WIDTH + WIDTH - 1)
  local r = {id = id, state = 'pending', set = {}, steps = {{'pending', now, by, reason}}}
  for name, value in pairs({body = body, ids = ids, digest = digest, created = text(now), expires = text(now + ttl),
      token = token, result = 'null', error = 'null'}) do set(r, name, value) end
  save(r)
end
if pause ~= '' then
  redis.call('HSET', key('pause', pause .. ':'), 'facts', facts, 'messages', messages, 'state', 'waiting',
    'created', text(now), 'token', token)
  redis.call('RPUSH', key('pauses', conversation .. ':'), pause)
end
return 'ok'
""")

_PAUSE = """
local pause = key('pause', W[1] .. ':')
local v = redis.call('HMGET', pause, 'state', 'owner', 'until')
local state, owner, due = v[1], v[2], tonumber(v[3] or '')
if state == 'resuming' and now >= due then state = 'waiting' end
local function whole(status)
  local parts = {status, text(now)}
  if state then
    for i, value in ipairs(redis.call('HMGET', pause, unpack(PAUSE_FIELDS))) do parts[i + 2] = value or '' end
  end
  return table.concat(parts, '\\n')
end
"""

GET_PAUSE = _script(_PAUSE + "return whole('ok')")

LATEST_PAUSE = _script(
    "W[1] = redis.call('LINDEX', key('pauses', W[1] .. ':'), -1) or '?'\n" + _PAUSE + "return whole('ok')"
)

TAKE_PAUSE = _script(
    _PAUSE
    + """
if state ~= 'waiting' and not (state == 'resuming' and owner == W[2]) then return whole('taken') end
redis.call('HSET', pause, 'state', 'resuming', 'owner', W[2], 'until', text(now + tonumber(W[3])))
return whole('ok')
"""
)

FINISH_PAUSE = _script(
    _PAUSE
    + """
if not state or owner ~= W[2] then return whole('lease') end
if v[1] == 'continued' then return whole('ok') end
if W[3] == 'continued' then
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
local after, limit, id = tonumber(W[1]), tonumber(W[2]), W[3]
local rows = {}
local function take(from, to)
  for _, e in ipairs(redis.call('XRANGE', key('log', ':'), from, to, 'COUNT', limit)) do
    rows[#rows + 1] = e[1]:match('^%d+') .. '\\n' .. e[2][2] .. '\\n' .. e[2][4]
  end
end
if id == '' then take(after + 1 .. '-0', '+')
else
  local numbers = redis.call('HGET', key('call', id), 'numbers')
  if not numbers then return false end
  for seq in string.gmatch(numbers, '%d+') do
    if tonumber(seq) > after and #rows < limit then take(seq .. '-0', seq .. '-9') end
  end
end
return rows
""")

import { describe, expect, it } from 'vitest'
import { newParser, parseChunk, type StreamEvent } from './sse-parser.ts'
import { BEGINNING, delayAfter, type Input, type StreamState, step } from './stream-state.ts'

const read = (...chunks: string[]): { events: StreamEvent[]; lastId: string } => {
  let parser = newParser('')
  const events: StreamEvent[] = []
  for (const chunk of chunks) {
    const parsed = parseChunk(parser, chunk)
    parser = parsed.parser
    events.push(...parsed.events)
  }
  return { events, lastId: parser.lastId }
}

describe('a stream of events', () => {
  const text = 'id: 7\nevent: round.completed\ndata: {"a":\ndata: 1}\n\n: ping\n\nid: 8\ndata: x\n\n'
  const events = [
    { id: '7', type: 'round.completed', data: '{"a":\n1}' },
    { id: '8', type: 'message', data: 'x' },
  ]

  it('is parsed the same for any chunks and line endings', () => {
    for (const lines of [text, text.replaceAll('\n', '\r\n'), text.replaceAll('\n', '\r')]) {
      for (let cut = 0; cut <= lines.length; cut++) {
        const { events: seen } = read(lines.slice(0, cut), lines.slice(cut), '\n')
        expect([cut, seen]).toEqual([cut, events])
      }
    }
  })

  it('yields nothing for an unfinished event, but keeps its id', () => {
    expect(read('id: 3\ndata: x\n')).toEqual({ events: [], lastId: '3' })
    expect(read('id: 3\n\ndata: y\n\n').events).toEqual([{ id: '3', type: 'message', data: 'y' }])
  })
})

const run = (state: StreamState, ...inputs: Input[]) => {
  let last = { state, effects: [] as readonly unknown[] }
  for (const input of inputs) last = step(last.state, input, () => 0)
  return last
}
const event = (id: string, type = 'round.completed'): Input => ({ kind: 'event', event: { id, type, data: '{}' } })

describe('the stream of a page', () => {
  it('refetches everything if it opens without a last event; checks the session whenever it reopens', () => {
    expect(run(BEGINNING, { kind: 'opened' })).toEqual({
      state: { mode: 'live', lastId: null, failures: 0, hasOpened: true },
      effects: [{ kind: 'refetch' }],
    })
    const cut = run(BEGINNING, { kind: 'opened' }, event('41'), { kind: 'closed' })
    expect(cut).toEqual({
      state: { mode: 'connecting', lastId: '41', failures: 0, hasOpened: true },
      effects: [{ kind: 'connect', afterMs: 50 }],
    })
    expect(run(cut.state, { kind: 'opened' }).effects).toEqual([{ kind: 'check-session' }])
    const silent = run(BEGINNING, { kind: 'opened' }, { kind: 'closed' }, { kind: 'opened' })
    expect(silent.effects).toEqual([{ kind: 'check-session' }, { kind: 'refetch' }])
  })

  it('announces events, and refetches everything at a gap', () => {
    const live = run(BEGINNING, { kind: 'opened' }).state
    expect(run(live, event('5')).effects).toEqual([
      { kind: 'announce', event: { id: '5', type: 'round.completed', data: '{}' } },
    ])
    expect(run(live, event('9', 'resync'))).toEqual({
      state: { mode: 'live', lastId: '9', failures: 0, hasOpened: true },
      effects: [{ kind: 'refetch' }],
    })
    expect(run(live, event('')).state.lastId).toBeNull()
  })

  it('waits longer after each failed attempt, at most 15 s, and resets the delay after a success', () => {
    const closed: Input = { kind: 'closed' }
    const third = run(BEGINNING, closed, closed, closed)
    expect(third).toEqual({
      state: { mode: 'offline', lastId: null, failures: 3, hasOpened: false },
      effects: [{ kind: 'connect', afterMs: 2000 }],
    })
    expect(run(third.state, { kind: 'opened' }).state.failures).toBe(0)
    expect([delayAfter(1000, () => 0), delayAfter(0, () => 1)]).toEqual([15_000, 250])
    expect(run(BEGINNING, { kind: 'refused', status: 503 }).state.mode).toBe('offline')
  })

  it.each([204, 404, 200])('polls if the response is %i without a stream, and tries again later', (status) => {
    expect(run(BEGINNING, { kind: 'refused', status })).toEqual({
      state: { mode: 'polling', lastId: null, failures: 0, hasOpened: false },
      effects: [
        { kind: 'poll', everyMs: 5000 },
        { kind: 'connect', afterMs: 60_000 },
      ],
    })
  })

  it.each([401, 403])('checks the session if the response is %i, and reconnects in case it is valid', (status) => {
    const refused: Input = { kind: 'refused', status }
    expect(run(BEGINNING, refused)).toEqual({
      state: { mode: 'connecting', lastId: null, failures: 1, hasOpened: false },
      effects: [{ kind: 'check-session' }, { kind: 'connect', afterMs: 500 }],
    })
    const later = run(BEGINNING, { kind: 'opened' }, event('41'), refused, refused)
    expect(later).toEqual({
      state: { mode: 'connecting', lastId: '41', failures: 2, hasOpened: true },
      effects: [{ kind: 'check-session' }, { kind: 'connect', afterMs: 1000 }],
    })
    expect(run(later.state, { kind: 'opened' }).state).toMatchObject({ mode: 'live', failures: 0 })
  })
})

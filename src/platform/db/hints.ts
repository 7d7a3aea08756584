import type pg from 'pg'
import { ignoreBroken, ServerClient } from './pool.ts'

/**
 * What changed: the outbox of events, keys (sent as hashes), delivery plans, rounds that devices may take part in, or the ends
 * of rounds.
 */
const HINT_TOPICS = ['events', 'keys', 'plans', 'rounds', 'endings'] as const
export type HintTopic = (typeof HINT_TOPICS)[number]

type Handler = (ids: readonly string[]) => void

/**
 * Notifies every process on this database that something changed. A hint only means "check again". Several may be merged, and
 * some are lost while a connection is broken, so listeners must also check periodically.
 */
export interface Hints {
  /** Wakes listeners in this process at once, and others shortly after. `ids` have no spaces and at most 64 characters. */
  send(topic: HintTopic, ids?: readonly string[]): void
  /** Returns a function that stops listening. */
  listen(topic: HintTopic, handler: Handler): () => void
  close(): Promise<void>
}

const CHANNEL = 'tributary_changes'
/** The first hint is sent at once; hints that follow closely share one statement. */
const MIN_INTERVAL_MS = 100
const RETRY_MS = 2000
/** A notification has at most 8000 bytes. */
const IDS_AT_ONCE = 100

const createHandlers = () => {
  const handlers = new Map<HintTopic, Set<Handler>>()
  const wake = (topic: HintTopic, ids: readonly string[] = []): void => {
    for (const handler of [...(handlers.get(topic) ?? [])]) handler(ids)
  }
  return {
    wake,
    wakeAll: () => {
      for (const topic of HINT_TOPICS) wake(topic)
    },
    isEmpty: () => [...handlers.values()].every((each) => each.size === 0),
    add(topic: HintTopic, handler: Handler) {
      const ofTopic = handlers.get(topic) ?? new Set()
      handlers.set(topic, ofTopic.add(handler))
      return () => void ofTopic.delete(handler)
    },
  }
}

/** Hints for the embedded database, which only one process opens. */
export const createLocalHints = (): Hints => {
  const { wake, add } = createHandlers()
  return { send: wake, listen: add, close: async () => undefined }
}

/** The pending hints as notification payloads: a topic followed by ids. */
const createOutgoing = () => {
  const topics = new Map<HintTopic, Set<string>>()
  return {
    isEmpty: () => topics.size === 0,
    add(topic: HintTopic, ids: readonly string[]) {
      const all = topics.get(topic) ?? new Set()
      for (const id of ids) all.add(id)
      topics.set(topic, all)
    },
    take(): string[] {
      const payloads = [...topics].flatMap(([topic, all]) => {
        const ids = [...all]
        const parts = Math.max(1, Math.ceil(ids.length / IDS_AT_ONCE))
        return Array.from({ length: parts }, (_, n) =>
          [topic, ...ids.slice(n * IDS_AT_ONCE, (n + 1) * IDS_AT_ONCE)].join(' '),
        )
      })
      topics.clear()
      return payloads
    },
  }
}

/**
 * Hints by NOTIFY, on a separate connection: a pool's connection would lose its LISTEN, and NOTIFY inside a transaction
 * serializes the commits of all that use it. Connects on first use, and again after a failure.
 */
export const createServerHints = (url: string): Hints => {
  const { wake, wakeAll, add, isEmpty } = createHandlers()
  const outgoing = createOutgoing()
  let connection: Promise<pg.Client> | null = null
  let closed = false
  let retry: NodeJS.Timeout | undefined
  let pause: NodeJS.Timeout | undefined

  const receive = (payload: string): void => {
    // Earlier versions send no topic.
    const [topic, ...ids] = (payload || 'events').split(' ')
    const known = HINT_TOPICS.find((each) => each === topic)
    if (known !== undefined) wake(known, ids)
  }

  const connect = async (): Promise<pg.Client> => {
    const client = new ServerClient({
      connectionString: url,
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
      application_name: 'tributary changes',
    })
    ignoreBroken(client)
    const own = client as pg.Client & { readonly processID?: number }
    client.on('notification', ({ processId, payload = '' }) => {
      if (processId !== own.processID) receive(payload)
    })
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
    } catch (error) {
      await client.end().catch(() => undefined)
      throw error
    }
    client.on('end', lost)
    return client
  }

  const lost = (): void => {
    connection = null
    clearTimeout(retry)
    if (closed || isEmpty()) return
    retry = setTimeout(() => void ensure().then(wakeAll, () => undefined), RETRY_MS)
    retry.unref()
  }

  const ensure = (): Promise<pg.Client> => {
    if (closed) return Promise.reject(new Error('The hints are closed.'))
    if (connection === null) {
      const opening = connect()
      connection = opening
      opening.catch(lost)
    }
    return connection
  }

  const notify = async (payloads: readonly string[]): Promise<void> => {
    const client = await ensure()
    await client.query('select pg_notify($1, payload) from unnest($2::text[]) as payload', [CHANNEL, payloads])
  }

  const flush = (): void => {
    pause = undefined
    if (outgoing.isEmpty()) return
    pause = setTimeout(flush, MIN_INTERVAL_MS).unref()
    notify(outgoing.take()).catch(() => undefined)
  }

  return {
    send(topic, ids = []) {
      wake(topic, ids)
      outgoing.add(topic, ids)
      if (pause === undefined) flush()
    },
    listen(topic, handler) {
      const stop = add(topic, handler)
      ensure().catch(() => undefined)
      return stop
    },
    async close() {
      closed = true
      clearTimeout(retry)
      clearTimeout(pause)
      await connection?.then((client) => client.end()).catch(() => undefined)
    },
  }
}

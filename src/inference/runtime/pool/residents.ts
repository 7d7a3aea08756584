import { anySignal } from '../../../domain/any-signal.ts'
import { type Acquired, outOfMemory, type Resident, shuttingDown } from './resident.ts'

export interface ResidentsOptions<Value> {
  readonly budgetBytes: number
  /** The actual memory of a loaded value. */
  readonly bytesOf: (value: Value) => number
  readonly close: (value: Value) => Promise<void>
  /** How long a load waits for releases before it is refused. */
  readonly timeoutMs: number
  /** Idle values are closed after this time; undefined: never. */
  readonly unloadAfterMs?: number
  readonly onClosed?: (name: string, error?: unknown) => void
}

interface Entry<Value> {
  readonly name: string
  bytes: number
  /** null while loading. */
  value: Value | null
  users: number
  /** When it was last released; the lowest is closed first. */
  usedAt: number
  /** Its room is needed, so new requests have to wait. */
  isLeaving: boolean
  /** Closes the value once it has been idle for long enough. */
  unload?: NodeJS.Timeout
}

interface Load<Value> {
  readonly done: Promise<Entry<Value>>
  /** Set when it is assigned to all waiting requests, before they resume. Otherwise the next load could close it in between. */
  lent: Entry<Value> | null
  waiting: number
  readonly abandoned: AbortController
}

/**
 * Keeps values in memory within a budget. Each name is loaded once for concurrent requests. Values in use are not closed; the
 * least recently used idle ones are closed to make room. If all are in use, a load waits, and requests for the values it
 * displaces queue behind it, so that a busy value cannot block it forever.
 */
export class Residents<Value> {
  readonly #options: ResidentsOptions<Value>
  readonly #entries = new Map<string, Entry<Value>>()
  readonly #loads = new Map<string, Load<Value>>()
  /** Actual memory by name, the estimate for the next load. */
  readonly #learned = new Map<string, number>()
  /** Runs one load at a time, because two at once would count on the same room. */
  #line: Promise<unknown> = Promise.resolve()
  /** Wakes the one that waits for a value to become idle: the first load in the queue, or `close`. */
  #wake: () => void = () => undefined
  #clock = 0
  #closed: Promise<void> | null = null

  constructor(options: ResidentsOptions<Value>) {
    this.#options = options
  }

  get loaded(): readonly Value[] {
    return [...this.#entries.values()].flatMap(({ value }) => (value === null ? [] : [value]))
  }

  /** @throws InferenceError out_of_memory, engine_failed if closed, or the error of `load`; the next call tries again */
  async acquire(requested: Resident<Value>, signal: AbortSignal): Promise<Acquired<Value>> {
    signal.throwIfAborted()
    if (this.#closed !== null) throw shuttingDown()
    const entry = this.#entries.get(requested.name)
    if (entry !== undefined && entry.value !== null && !entry.isLeaving) {
      entry.users++
      return this.#lent(entry)
    }
    const load = this.#loads.get(requested.name) ?? this.#startLoad(requested)
    load.waiting++
    try {
      return this.#lent(await unlessAborted(load.done, signal))
    } catch (error) {
      if (load.lent !== null) this.#lent(load.lent).release()
      else if (--load.waiting === 0) this.#abandon(requested.name, load)
      throw error
    }
  }

  /** Waits for values in use, then closes everything. */
  close(): Promise<void> {
    this.#closed ??= (async () => {
      for (const [name, load] of this.#loads) this.#abandon(name, load, shuttingDown())
      await this.#line
      while (this.#entries.size > 0) {
        const idle = [...this.#entries.values()].filter(({ users }) => users === 0)
        if (idle.length > 0) await Promise.all(idle.map((entry) => this.#remove(entry)))
        else await this.#somethingIdle()
      }
    })()
    return this.#closed
  }

  #lent(entry: Entry<Value>): Acquired<Value> {
    clearTimeout(entry.unload)
    let isOut = true
    return {
      value: entry.value!,
      release: () => {
        if (!isOut) return
        isOut = false
        entry.users--
        entry.usedAt = ++this.#clock
        if (entry.users > 0) return
        this.#unloadLater(entry)
        this.#wake()
      },
    }
  }

  /** Closes an idle value later, between two loads, unless it is used again before. */
  #unloadLater(entry: Entry<Value>): void {
    const { unloadAfterMs } = this.#options
    if (unloadAfterMs === undefined) return
    clearTimeout(entry.unload)
    const { usedAt } = entry
    entry.unload = setTimeout(() => {
      this.#line = this.#line.then(async () => {
        // A load in the queue may have taken long: it may have been used again, or closed. `close` closes all by itself.
        const isIdle = entry.users === 0 && entry.usedAt === usedAt && this.#entries.get(entry.name) === entry
        if (isIdle && this.#closed === null) await this.#remove(entry)
      })
    }, unloadAfterMs).unref()
  }

  #startLoad(requested: Resident<Value>): Load<Value> {
    const abandoned = new AbortController()
    const done = this.#line.then(async () => {
      const entry = await this.#load(requested, abandoned.signal)
      entry.users += load.waiting
      load.lent = entry
      return entry
    })
    const load: Load<Value> = { done, lent: null, waiting: 0, abandoned }
    this.#loads.set(requested.name, load)
    this.#line = done.catch(() => undefined).then(() => this.#forget(requested.name, load))
    return load
  }

  /** Cancels a load that no request waits for. If it has started, it finishes and stays idle. */
  #abandon(name: string, load: Load<Value>, reason?: Error): void {
    this.#forget(name, load)
    load.abandoned.abort(reason)
  }

  #forget(name: string, load: Load<Value>): void {
    if (this.#loads.get(name) === load) this.#loads.delete(name)
  }

  async #load(requested: Resident<Value>, abandoned: AbortSignal): Promise<Entry<Value>> {
    abandoned.throwIfAborted()
    // The load that needed its room was aborted, or an abandoned load finished.
    const existing = this.#entries.get(requested.name)
    if (existing !== undefined) return existing
    const expected = this.#learned.get(requested.name) ?? requested.expectedBytes
    await this.#makeRoom(requested.name, expected, abandoned)
    const { name } = requested
    const entry: Entry<Value> = { name, bytes: expected, value: null, users: 0, usedAt: 0, isLeaving: false }
    this.#entries.set(requested.name, entry)
    try {
      const value = await requested.load()
      await this.#admit(entry, value)
      return entry
    } catch (error) {
      this.#entries.delete(requested.name)
      throw error
    }
  }

  async #admit(entry: Entry<Value>, value: Value): Promise<void> {
    const { bytesOf, close } = this.#options
    entry.bytes = bytesOf(value)
    this.#learned.set(entry.name, entry.bytes)
    try {
      await this.#makeRoom(entry.name, entry.bytes, new AbortController().signal)
    } catch (error) {
      await close(value)
      throw error
    }
    entry.usedAt = ++this.#clock
    entry.value = value
    // If all requests for it have been aborted meanwhile, none will release it.
    this.#unloadLater(entry)
  }

  /** Closes idle values, least recently used first, and waits for values in use, until `bytes` fit. */
  async #makeRoom(name: string, bytes: number, abandoned: AbortSignal): Promise<void> {
    const { budgetBytes, timeoutMs } = this.#options
    if (bytes > budgetBytes) throw outOfMemory(name, bytes, budgetBytes, [])
    const stop = anySignal(abandoned, AbortSignal.timeout(timeoutMs))
    const others = () => [...this.#entries.values()].filter((entry) => entry.name !== name)
    const heldBytes = () => others().reduce((sum, entry) => sum + entry.bytes, 0)
    try {
      while (heldBytes() + bytes > budgetBytes) {
        const next = others().sort((a, b) => Number(a.users > 0) - Number(b.users > 0) || a.usedAt - b.usedAt)[0]!
        if (next.users === 0) await this.#remove(next)
        else {
          next.isLeaving = true
          await unlessAborted(this.#somethingIdle(), stop)
        }
      }
    } catch {
      abandoned.throwIfAborted()
      throw outOfMemory(name, bytes, budgetBytes, others())
    } finally {
      for (const entry of others()) entry.isLeaving = false
    }
  }

  #somethingIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  async #remove(entry: Entry<Value>): Promise<void> {
    entry.isLeaving = true
    clearTimeout(entry.unload)
    let failure: unknown
    try {
      if (entry.value !== null) await this.#options.close(entry.value)
    } catch (error) {
      failure = error
    }
    this.#entries.delete(entry.name)
    this.#options.onClosed?.(entry.name, failure)
  }
}

const unlessAborted = async <Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> => {
  let stop = (): void => undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

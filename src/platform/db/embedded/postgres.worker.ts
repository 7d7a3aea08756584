import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { errorMessage } from '../../../domain/error-message.ts'
import { copyFolder } from './copy-folder.ts'
import { DurablePGlite } from './durable-pglite.ts'
import { createMaintenance } from './maintenance.ts'
import type { Command, Message, ThreadData } from './thread-messages.ts'

// The embedded database's thread: PGlite computes synchronously and would otherwise block all requests.

const MAINTENANCE_EVERY_MS = 5_000

const { folder } = workerData as ThreadData
const main = parentPort
if (main === null) throw new Error('postgres.worker.ts runs as a worker thread only.')
const post = (message: Message): void => main.postMessage(message)

let syncs = 0
let checkpoints = 0
let vacuums = 0

const stop = (why: string): never => {
  post({ kind: 'failed', why })
  process.exit(1)
}

const open = async (): Promise<void> => {
  const db = new DurablePGlite(folder, () => syncs++)
  await db.open(stop)
  const maintenance = createMaintenance(db, performance.now())
  let maintenanceDue = false

  const maintain = async (force: boolean): Promise<void> => {
    maintenanceDue = false
    try {
      const done = await maintenance.run(performance.now(), force)
      checkpoints += done.checkpoints
      vacuums += done.vacuums
    } catch (error) {
      // For example because of a full disk: no query has failed yet, and the next attempt may succeed.
      post({ kind: 'trouble', message: `database maintenance failed: ${error}` })
    }
  }
  // Maintenance takes several steps; a client's statement between two of them could open a transaction around the rest.
  let turn = Promise.resolve()
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    turn = turn.then(work)
    return turn
  }
  const copies: { readonly id: number; readonly target: string }[] = []
  const copy = async ({ id, target }: { readonly id: number; readonly target: string }): Promise<void> => {
    try {
      post({ kind: 'copied', id, rows: await copyFolder(db, folder, target) })
    } catch (error) {
      post({ kind: 'not-copied', id, why: errorMessage(error) })
    }
  }
  const maintainWhenIdle = async (): Promise<void> => {
    if (db.isInTransaction()) return
    if (maintenanceDue) await maintain(false)
    for (const each of copies.splice(0)) await copy(each)
  }
  const timer = setInterval(() => {
    maintenanceDue = true
    void inTurn(maintainWhenIdle)
  }, MAINTENANCE_EVERY_MS)

  const resetSession = async (): Promise<void> => {
    if (db.isInTransaction()) await db.exec('rollback')
    await db.exec('discard all')
  }

  const serve = (port: MessagePort): void => {
    port.on('message', (message: Uint8Array) => {
      void inTurn(async () => {
        // A startup packet (without a type byte): a new client must not inherit a broken client's open transaction.
        if (message[0] === 0) await resetSession()
        const chunks: Uint8Array[] = []
        // The raw stream: PGlite's other protocol calls parse every response and keep the parsed messages forever.
        await db.execProtocolRawStream(message, { onRawData: (bytes) => void chunks.push(bytes.slice()) })
        const whole = Uint8Array.from(Buffer.concat(chunks))
        port.postMessage(whole, [whole.buffer])
        await maintainWhenIdle()
      })
    })
  }

  const execute = async (command: Command): Promise<void> => {
    if (command.kind === 'copy') {
      copies.push(command)
      return maintainWhenIdle()
    }
    if (command.kind === 'connect') serve(command.port)
    if (command.kind === 'maintain') await maintain(true)
    if (command.kind === 'close') {
      clearInterval(timer)
      await db.close()
    }
    post({ kind: 'done', id: command.id, counters: { syncs, checkpoints, vacuums } })
    if (command.kind === 'close') main.close()
  }
  main.on('message', (command: Command) => void inTurn(() => execute(command)))
  post({ kind: 'ready' })
}

open().catch((error: unknown) => stop(String(error)))

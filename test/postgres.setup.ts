import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { migrate } from '../src/platform/db/migrate.ts'
import { MIGRATIONS } from '../src/platform/db/migrations/all.ts'
import { openDatabase } from '../src/platform/db/open.ts'
import { freePort, postgresBinaries, unprivilegedUser } from './postgres-program.ts'

// Before all tests: starts a PostgreSQL server (or uses the one from SERVICE_TEST_DATABASE_URL) with a migrated database to
// copy, and creates the folder of a migrated embedded database to copy.

declare module 'vitest' {
  interface ProvidedContext {
    /** The server's URL, with a database that tests may connect to but not use; null if there is no server. */
    readonly postgresUrl: string | null
    /** The folder of the server's socket, which costs half the system time of TCP; null if the server is not ours. */
    readonly postgresSocket: string | null
    /** The name of its migrated database. */
    readonly postgresTemplate: string
    /** The data folder of a migrated, closed embedded database. */
    readonly embeddedTemplate: string
    /** The parent of the tests' folders; removed after all tests. */
    readonly folders: string
  }
}

const cleanUps: (() => void | Promise<void>)[] = []

export const setup = async (project: TestProject): Promise<void> => {
  const [postgres, embeddedTemplate] = await Promise.all([preparePostgres(), prepareEmbedded()])
  project.provide('postgresUrl', postgres.url)
  project.provide('postgresSocket', postgres.socket)
  project.provide('postgresTemplate', postgres.template)
  project.provide('embeddedTemplate', embeddedTemplate)
  project.provide('folders', temporaryFolder('tests'))
}

export const teardown = async (): Promise<void> => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
}

const temporaryFolder = (name: string): string => {
  const folder = mkdtempSync(join(tmpdir(), `tributary-${name}-`))
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** Created once and kept until the migrations or the program's own template change. */
const prepareEmbedded = async (): Promise<string> => {
  const program = readFileSync(new URL('../src/platform/db/embedded/template.bin', import.meta.url))
  const version = createHash('sha256').update(program).update(JSON.stringify(MIGRATIONS)).digest('hex').slice(0, 16)
  const cache = fileURLToPath(new URL('../node_modules/.cache/tributary-tests', import.meta.url))
  const kept = join(cache, `embedded-${version}`)
  if (existsSync(kept)) return kept
  mkdirSync(cache, { recursive: true })
  const growing = mkdtempSync(join(cache, 'growing-'))
  const db = await openDatabase({ url: null, dataDir: growing })
  await migrate(db, MIGRATIONS)
  await db.close()
  try {
    renameSync(growing, kept)
  } catch {
    // Another test run was faster.
    rmSync(growing, { recursive: true })
  }
  return kept
}

interface PreparedPostgres {
  readonly url: string | null
  readonly socket: string | null
  readonly template: string
}

const preparePostgres = async (): Promise<PreparedPostgres> => {
  const template = `tributary_${process.pid}_template`
  const given = process.env.SERVICE_TEST_DATABASE_URL
  const { url, socket } = given ? { url: given, socket: null } : await startServer()
  if (url === null) return { url, socket, template }
  const admin = new pg.Client(url)
  await admin.connect()
  await admin.query(`create database ${template}`)
  await admin.end()
  const own = new URL(url)
  own.pathname = `/${template}`
  const db = await openDatabase({ url: own.href, dataDir: '' })
  await migrate(db, MIGRATIONS)
  await db.close()
  if (given) {
    cleanUps.push(async () => {
      const client = new pg.Client(url)
      await client.connect()
      const { rows } = await client.query('select datname from pg_database where starts_with(datname, $1)', [template])
      for (const { datname } of rows) await client.query(`drop database ${datname} with (force)`)
      await client.end()
    })
  }
  return { url, socket, template }
}

const startServer = async (): Promise<Pick<PreparedPostgres, 'url' | 'socket'>> => {
  const binaries = postgresBinaries()
  if (binaries === undefined) {
    const message = 'no PostgreSQL binaries (initdb, postgres) on the PATH or under /usr/lib/postgresql'
    if (process.env.CI === 'true') throw new Error(`CI runs the tests on PostgreSQL too, but there are ${message}.`)
    console.warn(`\nSKIPPED: every test on PostgreSQL, because there are ${message}.\n`)
    return { url: null, socket: null }
  }
  const root = temporaryFolder('postgres')
  const user = unprivilegedUser()
  if (user) chownSync(root, user.uid, user.gid)
  const folder = join(root, 'data')
  const options = ['-D', folder, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  const initdb = spawnSync(join(binaries, 'initdb'), options, { ...user, cwd: root, encoding: 'utf8' })
  if (initdb.status !== 0) throw new Error(`initdb failed: ${initdb.stderr || initdb.error}`)
  const access = join(folder, 'pg_hba.conf')
  writeFileSync(access, `host all with_password 127.0.0.1/32 scram-sha-256\n${readFileSync(access, 'utf8')}`)

  const port = await freePort()
  const settings = [
    'fsync=off',
    'full_page_writes=off',
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${root}`,
  ]
  const server = spawn(
    // The shell ends the server when its standard input closes, even if the test run is killed.
    '/bin/sh',
    ['-c', '"$0" "$@" & read -r _; kill -INT $!; wait $!', join(binaries, 'postgres')].concat(
      ['-D', folder, '-p', String(port)],
      [...settings, 'max_connections=200', 'shared_buffers=64MB'].flatMap((setting) => ['-c', setting]),
    ),
    { ...user, cwd: root, stdio: ['pipe', 'ignore', 'pipe'] },
  )
  const exited = once(server, 'exit')
  cleanUps.push(async () => {
    server.stdin?.end()
    await exited
  })
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  await untilReady(url, server)
  return { url, socket: root }
}

const untilReady = async (url: string, server: ChildProcess): Promise<void> => {
  let output = ''
  server.stderr?.on('data', (bytes) => (output += bytes))
  for (let attempt = 0; attempt < 200; attempt++) {
    const client = new pg.Client(url)
    try {
      await client.connect()
      await client.end()
      return
    } catch {
      if (server.exitCode !== null) break
      await sleep(50)
    }
  }
  throw new Error(`PostgreSQL does not start:\n${output}`)
}

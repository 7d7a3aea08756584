import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort, postgresBinaries, unprivilegedUser } from '../postgres-program.ts'
import type { CleanUps } from './clean-ups.ts'

export interface PostgresCluster {
  /** Creates an empty database and returns its URL. */
  newDatabase(): Promise<string>
}

/** Starts a temporary server with the package's defaults, including fsync; null if there are no binaries. */
export const startCluster = async (cleanUps: CleanUps): Promise<PostgresCluster | null> => {
  const binaries = postgresBinaries()
  if (binaries === undefined) {
    console.log('(no PostgreSQL binaries on the PATH or under /usr/lib/postgresql: that half is left out)')
    return null
  }
  const root = cleanUps.folder('postgres')
  const user = unprivilegedUser()
  if (user !== undefined) chownSync(root, user.uid, user.gid)
  const data = join(root, 'data')
  const options = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C']
  const initdb = spawnSync(join(binaries, 'initdb'), options, { ...user, cwd: root, encoding: 'utf8' })
  if (initdb.status !== 0) throw new Error(`initdb failed: ${initdb.stderr || initdb.error}`)

  const port = await freePort()
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=']
  const server = spawn(
    join(binaries, 'postgres'),
    ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    { ...user, cwd: root, stdio: 'ignore' },
  )
  const exited = once(server, 'exit')
  cleanUps.add(async () => {
    server.kill('SIGINT')
    await exited
  })
  const url = (name: string): string => `postgres://postgres@127.0.0.1:${port}/${name}`
  const admin = await connect(url('postgres'))
  cleanUps.add(() => admin.end())
  let databases = 0
  return {
    newDatabase: async () => {
      const name = `bench_${++databases}`
      await admin.query(`create database ${name}`)
      return url(name)
    },
  }
}

const connect = async (url: string): Promise<pg.Client> => {
  for (let attempt = 1; ; attempt++) {
    const client = new pg.Client(url)
    try {
      await client.connect()
      return client
    } catch (error) {
      if (attempt === 400) throw error
      await sleep(50)
    }
  }
}

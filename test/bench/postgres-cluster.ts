import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { CleanUps } from './clean-ups.ts'

export interface PostgresCluster {
  /** The URL of a new, empty database. */
  newDatabase(): Promise<string>
}

/** A throw-away server as its package sets it up, fsync and all; null where there are no binaries. */
export const startCluster = async (cleanUps: CleanUps): Promise<PostgresCluster | null> => {
  const binaries = binariesFolder()
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

const binariesFolder = (): string | undefined => {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  return [
    ...(process.env.PATH ?? '').split(delimiter),
    ...versions.map((version) => join(debian, version, 'bin')),
  ].find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
}

/** PostgreSQL refuses to run as root. */
const unprivilegedUser = (): { uid: number; gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody')
  if (user === undefined) throw new Error('PostgreSQL refuses to run as root, and there is no user postgres or nobody.')
  return { uid: Number(user[2]), gid: Number(user[3]) }
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('The system gave no port.')
  return address.port
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

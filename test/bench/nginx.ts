import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CleanUps } from './clean-ups.ts'

export interface Nginx {
  /** Serves the file here, at /artifact. */
  readonly port: number
  /** Proxies the service here, as in deploy/nginx. */
  readonly frontPort: number
  /** CPU seconds used so far by all its processes. */
  cpuSeconds(): number
}

const CLOCK_TICKS_PER_SECOND = 100

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

const FRONT = new URL('../../deploy/nginx/tributary.conf', import.meta.url)

/**
 * Starts nginx with sendfile, as installed by a package, serving one file at /artifact, and as a proxy for the service whose
 * files are in `blobs`. Uses NGINX or the PATH; null if not found.
 */
export const startNginx = async (
  cleanUps: CleanUps,
  { file, servicePort, blobs }: { readonly file: string; readonly servicePort: number; readonly blobs: string },
): Promise<Nginx | null> => {
  const program = process.env.NGINX ?? 'nginx'
  if (spawnSync(program, ['-v']).status !== 0) return null
  const folder = cleanUps.folder('nginx')
  const port = await freePort()
  const frontPort = await freePort()
  const front = readFileSync(FRONT, 'utf8')
    .replace('127.0.0.1:8000', `127.0.0.1:${servicePort}`)
    .replace('listen 80', `listen 127.0.0.1:${frontPort}`)
    .replace('alias /var/lib/tributary/data/blobs/', `alias ${blobs}/`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const config = `
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    daemon off;
    worker_processes auto;
    pid ${folder}/pid;
    error_log ${folder}/log;
    events { worker_connections 1024; }
    http {
      access_log off;
      sendfile on;
      tcp_nopush on;
      ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
      server { listen 127.0.0.1:${port}; location = /artifact { alias ${file}; } }
      ${front}
    }`
  writeFileSync(join(folder, 'nginx.conf'), config)
  const child: ChildProcess = spawn(program, ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'log')], {
    stdio: 'ignore',
    cwd: dirname(file),
  })
  const ended = once(child, 'exit')
  cleanUps.add(async () => {
    child.kill('SIGTERM')
    await ended
  })
  for (let tries = 0; !(await isListening(port)); tries++) {
    if (tries > 100 || child.exitCode !== null) {
      throw new Error(`nginx does not start:\n${readFileSync(join(folder, 'log'), 'utf8')}`)
    }
    await sleep(50)
  }
  const secondsOf = (pid: string): number => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND
  }
  const workers = readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[1] === String(child.pid)
    } catch {
      return false
    }
  })
  return { port, frontPort, cpuSeconds: () => workers.reduce((sum, pid) => sum + secondsOf(pid), 0) }
}

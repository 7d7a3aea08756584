import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { onTestFinished } from 'vitest'
import { emptyFolder } from './databases.ts'

const PROGRAM = fileURLToPath(new URL('./fixtures/swift/serve.py', import.meta.url))
const PYTHON = '/usr/bin/python3'
const MODULES = ['eventlet', ...['proxy', 'account', 'container', 'obj'].map((part) => `swift.${part}.server`)]
// Importing them takes a second.
const LOOK = 'import sys; from importlib.util import find_spec; sys.exit(not all(map(find_spec, sys.argv[1:])))'

const lookForSwift = (): string | null => {
  const looked = spawnSync(PYTHON, ['-c', LOOK, ...MODULES], { encoding: 'utf8' })
  if (looked.status === 0) return null
  const message = 'OpenStack Swift is not installed (swift-proxy, swift-account, swift-container, swift-object)'
  console.warn(`\nSKIPPED: every test on S3, because ${message}.\n`)
  return message
}

let reason: string | null | undefined

/** Returns why Swift with its S3 interface is not available here; null if it is. */
export const noSwift = (): string | null => {
  if (reason === undefined) reason = lookForSwift()
  return reason
}

/** For the AWS SDK's credential chain. */
export const SWIFT_KEYS = { AWS_ACCESS_KEY_ID: 'test:tester', AWS_SECRET_ACCESS_KEY: 'testing' } as const

export interface Swift {
  readonly endpoint: string
  readonly port: number
  /** Like a power failure of its machine. */
  kill(): Promise<void>
  start(): Promise<void>
}

/** Starts a separate server with the bucket `weights`; ends with the test. */
export const startSwift = async (): Promise<Swift> => {
  const folder = await emptyFolder()
  // Any free one at first, and the same after it was killed.
  let port = 0
  let child: ChildProcess | null = null
  const kill = async (): Promise<void> => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  const start = async (): Promise<void> => {
    // It ends when its standard input closes, even if the test run is killed.
    const started = spawn(PYTHON, [PROGRAM, folder, String(port)], { stdio: ['pipe', 'pipe', 'pipe'] })
    child = started
    let output = ''
    started.stderr.on('data', (bytes) => (output += bytes))
    port = await new Promise<number>((resolve, reject) => {
      createInterface({ input: started.stdout }).on('line', (line) => {
        if (line.startsWith('ready ')) resolve(Number(line.slice('ready '.length)))
      })
      started.once('exit', () => reject(new Error(`Swift does not start:\n${output}`)))
    })
  }
  onTestFinished(kill)
  await start()
  const endpoint = `http://127.0.0.1:${port}`
  Object.assign(process.env, SWIFT_KEYS)
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true })
  await client.send(new CreateBucketCommand({ Bucket: 'weights' }))
  client.destroy()
  return { endpoint, port, kill, start }
}

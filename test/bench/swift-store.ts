import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import type { CleanUps } from './clean-ups.ts'

const SWIFT = fileURLToPath(new URL('../fixtures/swift/serve.py', import.meta.url))
const BUCKET = 'weights'

export interface SwiftStore {
  /** The settings with which a service stores its files there: its storage (prefix `bench`) and its keys. */
  readonly settings: Readonly<Record<string, string>> & { readonly SERVICE_STORAGE_URL: string }
  readonly client: S3Client
  readonly bucket: string
}

/** Starts a separate store over loopback, as in the tests (Debian's swift packages). */
export const startSwiftStore = async (cleanUps: CleanUps): Promise<SwiftStore> => {
  const child = spawn('/usr/bin/python3', [SWIFT, cleanUps.folder('swift'), '0'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  cleanUps.add(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  const port = await new Promise<number>((done, failed) => {
    lines.on('line', (line) => line.startsWith('ready ') && done(Number(line.slice('ready '.length))))
    child.once('exit', () => failed(new Error('Swift does not start: is it installed?')))
  })
  const endpoint = `http://127.0.0.1:${port}`
  const credentials = { accessKeyId: 'test:tester', secretAccessKey: 'testing' }
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials })
  cleanUps.add(() => client.destroy())
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }))
  const settings = {
    SERVICE_STORAGE_URL: `s3://${BUCKET}/bench?endpoint=${endpoint}&region=us-east-1`,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  }
  return { settings, client, bucket: BUCKET }
}

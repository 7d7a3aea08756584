import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { eachDatabase } from '../../../../test/databases.ts'
import { parseStorageUrl, type S3Location } from '../../../domain/storage-location.ts'
import { openS3Objects } from '../../../platform/blobs/s3-objects.ts'
import { createSharedPartialFiles } from '../../../platform/blobs/shared-partial-files.ts'
import { createUploadParts } from './upload-parts.store.ts'

/** A minimal S3 for uploads; awaits `beforeRemoving` before it removes an object. */
const startObjectServer = async (beforeRemoving: () => Promise<void>) => {
  const objects = new Map<string, Buffer>()
  const server = createServer(async (request, response) => {
    const { method, url } = request
    const key = new URL(url!, 'http://x').pathname
    if (method === 'PUT') objects.set(key, await buffer(request))
    if (method === 'DELETE') {
      await beforeRemoving()
      objects.delete(key)
    }
    response.writeHead(method === 'DELETE' ? 204 : 200).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return { objects, endpoint: `http://127.0.0.1:${(server.address() as { port: number }).port}` }
}

eachDatabase('unfinished uploads in S3', (open) => {
  it('an upload that was continued while older ones were being removed is kept', async () => {
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'test:tester', AWS_SECRET_ACCESS_KEY: 'testing' })
    let time = new Date('2026-01-01T00:00:00Z')
    const send = (name: string, offset: number) =>
      partials.append(
        name,
        { offset, total: 100 },
        (async function* () {
          yield Buffer.from('abcd')
        })(),
      )
    let continued: unknown
    const server = await startObjectServer(async () => {
      continued ??= await send('second', 4)
    })
    const location = parseStorageUrl(`s3://weights/x?endpoint=${server.endpoint}&region=us-east-1`) as S3Location
    const partials = createSharedPartialFiles(
      await openS3Objects(location),
      createUploadParts({ database: await open(), now: () => time }),
    )
    await send('first', 0)
    time = new Date('2026-01-01T01:00:00Z')
    await send('second', 0)
    time = new Date('2026-01-03T00:00:00Z')

    expect(await partials.expire(new Date('2026-01-02T00:00:00Z'))).toBe(1)
    expect(continued).toEqual({ outcome: 'appended', size: 8 })
    expect([await partials.size('first'), await partials.size('second')]).toEqual([0, 8])
    expect([...server.objects.keys()].map((key) => key.replace(/.*partial/, 'partial'))).toEqual([
      'partial/second/0',
      'partial/second/4',
    ])
    expect(await send('second', 8)).toEqual({ outcome: 'appended', size: 12 })
  })
})

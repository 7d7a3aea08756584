import { mkdir, readdir, utimes } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'

/** Above the largest process id of any system. */
const DEAD = 99_999_999

it('deletes what killed processes left behind more than a day ago, and nothing else', async () => {
  const parent = await emptyFolder()
  const earlier = new Date(Date.now() - 25 * 60 * 60 * 1000)
  const kept = [`svc-audio-${process.ppid}-abcdef`, `svc-other-${DEAD}`, `other-${DEAD}-abcdef`]
  for (const name of [...kept, `svc-audio-${DEAD}-abcdef`, `.svc-quantize-${DEAD}-abcdef`]) {
    await mkdir(join(parent, name, 'in'), { recursive: true })
    await utimes(join(parent, name), earlier, earlier)
  }
  const recent = `svc-launch-${DEAD}-abcdef`
  await mkdir(join(parent, recent))
  const made = basename(await makeTemporaryFolder('.svc-quantize', parent))
  expect(made).toMatch(new RegExp(`^\\.svc-quantize-${process.pid}-\\w{6}$`))
  expect((await readdir(parent)).sort()).toEqual([...kept, recent, made].sort())
})

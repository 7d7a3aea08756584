import { chown, mkdir, readdir, symlink, utimes } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'

/** Above the largest process id of any system. */
const DEAD = 99_999_999

it('deletes what killed processes of this user left behind more than a day ago, and nothing else', async () => {
  const parent = await emptyFolder()
  const earlier = new Date(Date.now() - 25 * 60 * 60 * 1000)
  const kept = [`svc-audio-${process.ppid}-abcdef`, `svc-other-${DEAD}`, `other-${DEAD}-abcdef`]
  for (const name of [...kept, `svc-audio-${DEAD}-abcdef`, `.svc-quantize-${DEAD}-abcdef`]) {
    await mkdir(join(parent, name, 'in'), { recursive: true })
    await utimes(join(parent, name), earlier, earlier)
  }
  if (process.getuid?.() === 0) {
    const ofOther = `svc-audio-${DEAD}-other1`
    await mkdir(join(parent, ofOther))
    await utimes(join(parent, ofOther), earlier, earlier)
    await chown(join(parent, ofOther), 65534, 65534)
    kept.push(ofOther)
  }
  const recent = `svc-launch-${DEAD}-abcdef`
  await mkdir(join(parent, recent))
  const link = `svc-launch-${DEAD}-link12`
  await symlink(join(parent, 'absent'), join(parent, link))
  const made = basename(await makeTemporaryFolder('.svc-quantize', parent))
  expect(made).toMatch(new RegExp(`^\\.svc-quantize-${process.pid}-\\w{6}$`))
  expect((await readdir(parent)).sort()).toEqual([...kept, recent, link, made].sort())
})

it('an error names the folder that cannot be used', async () => {
  const parent = join(await emptyFolder(), 'absent')
  await expect(makeTemporaryFolder('svc-audio', parent)).rejects.toMatchObject({ code: 'ENOENT', path: parent })
})

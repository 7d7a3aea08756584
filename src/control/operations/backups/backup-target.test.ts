import { readdirSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../../test/databases.ts'
import { startWorld } from '../../../../test/world.ts'
import { openBackupTarget, prepareTarget } from './backup-target.ts'

it.runIf(process.platform === 'linux')(
  'a target that contains backups is recognized without leaving a file open',
  async () => {
    const folder = join(await emptyFolder(), 'backups')
    const target = openBackupTarget(folder)
    await prepareTarget(target)
    const openFiles = () => readdirSync('/proc/self/fd').length
    const before = openFiles()
    for (let n = 0; n < 50; n++) await prepareTarget(target)
    await expect.poll(() => openFiles() - before).toBeLessThan(25)
  },
)

it('a damaged manifest of an old backup does not fail new ones, and rotates out like any other', async () => {
  const backupUrl = join(await emptyFolder(), 'backups')
  const world = await startWorld({ durable: true, config: { backupUrl, backupHours: 24, backupKeep: 2 } })
  const { key } = await world.register('d')
  const names = async () => (await readdir(join(backupUrl, 'backups'))).sort()
  await world.advance(1)
  const [first] = await names()
  const path = join(backupUrl, 'backups', first!)
  await writeFile(path, (await readFile(path, 'utf8')).replace('{', '['))
  for (let day = 0; day < 2; day++) await world.advance(24 * 3600)
  const { body } = await world.request('GET', '/api/v1/backups', { key })
  expect((body as { backups: { status: string }[] }).backups.map(({ status }) => status)).toEqual(
    Array(3).fill('completed'),
  )
  expect((await names()).map((name) => name.slice(0, 10))).toEqual(['2026-01-02', '2026-01-03'])
})

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, readdirSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder, freshDataDir, freshPostgresUrl, hasPostgres } from '../../../test/databases.ts'
import { builtFile } from '../../../test/e2e/built-program.ts'
import { runBuilt } from '../../../test/e2e/built-svc.ts'
import { runService } from '../../../test/e2e/service-process.ts'
import { readConfig } from '../../config.ts'
import { createControlPlane } from '../app.ts'
import { backup } from './backup.ts'
import { restore } from './restore.ts'
import { runProgramHere } from './run-program.fixture.ts'

const isRoot = process.geteuid?.() === 0
const NOBODY = 65534

const giveAway = (folder: string): void => {
  chownSync(folder, NOBODY, NOBODY)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) giveAway(path)
    else chownSync(path, NOBODY, NOBODY)
  }
}

/** Runs the service's program with a limit, such as `-n 40` for its open files. */
const withLimit = async (limit: string, argv: readonly string[], dataDir: string) => {
  const script = `ulimit ${limit}; exec "$0" --liftoff-only "$@"`
  const child = spawn('sh', ['-c', script, process.execPath, await builtFile('main.js'), ...argv], {
    env: { PATH: process.env.PATH, SERVICE_DATA_DIR: dataDir, SERVICE_PORT: '0', SERVICE_LOG_LEVEL: 'error' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [stderr, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')])
  return { code, stderr }
}

it.runIf(isRoot)('root neither backs up nor restores into the data folder of another user (needs root)', async () => {
  const dataDir = await freshDataDir()
  const target = join(await emptyFolder(), 'backups')
  giveAway(dataDir)
  await expect(runProgramHere(backup, dataDir, { target })).rejects.toThrow(
    new RegExp(` is used by .* sudo -u \\S+ (--preserve-env=\\S+ )?svc backup ${target} --data-dir ${dataDir}$`),
  )
  expect((await stat(join(dataDir, 'database', 'pg_logical', 'replorigin_checkpoint'))).uid).toBe(NOBODY)

  // Root's own service in the folder of another user, as in a container.
  await (await runService(dataDir)).kill()
  expect((await runProgramHere(backup, dataDir, { target })).data).toMatchObject({ status: 'completed' })

  const empty = await emptyFolder()
  giveAway(empty)
  await expect(runProgramHere(restore, empty, { target })).rejects.toThrow(
    new RegExp(` is used by .* sudo -u \\S+ (--preserve-env=\\S+ )?svc restore ${target} --data-dir ${empty}$`),
  )
  expect(await readdir(empty)).toEqual([])
})

it.runIf(isRoot).each([
  ['a file of the database', /^database\/global\/pg_control$/, 'database/global/pg_control'],
  ['the files of tables', /^database\/base\/5\/(16|17)\d{3}$/, String.raw`database/base/5/\d+`],
  ['the folder of uploads', /^blobs\/staging$/, 'blobs/staging'],
  ['a folder of stored files', /^blobs\/sha256\/ab$/, 'blobs/sha256/ab'],
])('a service that may not open %s, of root, names it and the command (needs root)', async (_what, ofRoot, named) => {
  const dataDir = await freshDataDir()
  for (const folder of ['staging', 'sha256/ab']) await mkdir(join(dataDir, 'blobs', folder), { recursive: true })
  giveAway(dataDir)
  for (const name of (await readdir(dataDir, { recursive: true })).filter((path) => ofRoot.test(path))) {
    await chown(join(dataDir, name), 0, 0)
    await chmod(join(dataDir, name), 0o600)
  }
  const program = await builtFile('main.js')
  chmodSync(join(dataDir, '..'), 0o755)
  const started = promisify(execFile)(process.execPath, ['--liftoff-only', program], {
    env: { SERVICE_DATA_DIR: dataDir, SERVICE_PORT: '0' },
    uid: NOBODY,
    gid: NOBODY,
  })
  const folder = named.startsWith('blobs') ? join(dataDir, 'blobs') : dataDir
  await expect(started).rejects.toMatchObject({
    stderr: expect.stringMatching(new RegExp(`${dataDir}/${named} belongs to root, .*: chown -R \\S+ ${folder}\\.\n$`)),
  })
})

it.runIf(process.platform === 'linux')('too few open files are one message, with the limit', async () => {
  const [made, missing] = [await freshDataDir(), join(await emptyFolder(), 'data')]
  for (const [argv, dataDir] of [
    [[], made],
    [[], missing],
    [['backup', '--target', join(await emptyFolder(), 'backups')], made],
  ] as const) {
    expect(await withLimit('-n 40', argv, dataDir)).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^This process can open only 40 files, .*ulimit -n.*\n$/),
    })
  }
})

it.runIf(process.platform === 'linux').each([
  ['-f', 100, 'This process is not allowed to write files as large as it needs.'],
  ['-v', 20_000_000, "The limit on this process's address space is too low."],
])('ulimit %s is named if it is too low', async (option, limit, fault) => {
  const dataDir = join(await emptyFolder(), 'data')
  expect(await withLimit(`${option} ${limit}`, [], dataDir)).toEqual({
    code: 1,
    stderr: expect.stringMatching(new RegExp(`^${fault} .* ulimit ${option} in the shell, .*\\n$`)),
  })
})

it('a service without native code for this system says how to install it', async () => {
  // Stands in for an installation with --omit=optional, or on another system.
  const started = promisify(execFile)(process.execPath, ['--liftoff-only', await builtFile('main.js')], {
    env: { SERVICE_DATA_DIR: join(await emptyFolder(), 'data'), NAPI_RS_NATIVE_LIBRARY_PATH: '/absent' },
  })
  await expect(started).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The native code of @node-rs\/argon2, .*npm install --include=optional\. .*\n$/),
  })
})

/** A folder with backups that belong to this user; anyone may enter it. */
const createBackup = async (): Promise<string> => {
  const target = join(await emptyFolder(), 'backups')
  const databaseUrl = hasPostgres() ? await freshPostgresUrl() : null
  await runProgramHere(backup, await emptyFolder(), { target }, { databaseUrl })
  for (const folder of [join(target, '..'), target]) await chmod(folder, 0o755)
  return target
}

it('a data folder that cannot be created is named by svc restore', async () => {
  const target = await createBackup()
  await mkdir(join(target, 'sub'))
  expect(await runBuilt(['restore', target, '--data-dir', '/proc/nope/data'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/^svc: The data folder \/proc\/nope\/data cannot be used: .* cannot be created/),
  })
})

it('a folder without an embedded database is not backed up', async () => {
  const [dataDir, target] = [join(await emptyFolder(), 'data'), join(await emptyFolder(), 'backups')]
  await expect(runProgramHere(backup, dataDir, { target })).rejects.toThrow(
    `There is no embedded database in ${dataDir}. Set SERVICE_DATA_DIR`,
  )
  expect([existsSync(dataDir), existsSync(target)]).toEqual([false, false])
})

it('a backup without a key of the installation says so', async () => {
  const [dataDir, target] = [await emptyFolder(), join(await emptyFolder(), 'backups')]
  const databaseUrl = hasPostgres() ? await freshPostgresUrl() : null
  const service = await createControlPlane({ ...readConfig({ SERVICE_LOG_LEVEL: 'error' }), dataDir, databaseUrl })
  await service.createFirstAdminKey()
  await service.close()
  await rm(join(dataDir, 'secrets.key'))
  const { data, progress } = await runProgramHere(backup, dataDir, { target }, { databaseUrl })
  expect(data).toMatchObject({ status: 'completed', missing_keys: ['secrets.key'] })
  expect(progress).toContainEqual(
    expect.stringContaining(
      `The backup lacks keys that this installation uses: ${dataDir} does not have its secrets.key.`,
    ),
  )
})

it.runIf(isRoot)('backups that the user may not read are named, with their owner (needs root)', async () => {
  const target = await createBackup()
  const program = await builtFile('main.js')
  const dataDir = await emptyFolder()
  giveAway(dataDir)
  for (const name of ['restore', 'backups']) {
    const listed = promisify(execFile)(process.execPath, ['--liftoff-only', program, name, '--target', target], {
      env: { SERVICE_DATA_DIR: dataDir },
      uid: NOBODY,
      gid: NOBODY,
    })
    await expect(listed).rejects.toMatchObject({
      stderr: expect.stringMatching(
        new RegExp(
          `^The backups in ${target} cannot be read: permission denied .* belongs to root, .*: chown -R \\S+ ${target}\\.\n$`,
        ),
      ),
    })
  }
})

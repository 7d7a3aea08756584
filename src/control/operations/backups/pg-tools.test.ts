import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { emptyFolder } from '../../../../test/databases.ts'
import { dumpServer, restoreServer } from './pg-tools.ts'

/** Puts a program into PATH that stands for PostgreSQL's. */
const installed = async (name: string, script: string): Promise<string> => {
  const folder = await emptyFolder()
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`)
  await chmod(join(folder, name), 0o755)
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  return folder
}

it.skipIf(process.platform === 'win32')('the password is not in the arguments, wherever the URL has it', async () => {
  const folder = await installed('pg_dump', `echo "$*" > "$0.argv"; echo "$PGPASSWORD" > "$0.password"`)
  const options = 'options=-c%20geqo%3Doff'
  for (const [url, shown] of [
    ['postgres://me:p%20w@h:1/x', 'postgres://me@h:1/x'],
    ['postgres://h/x?user=me&password=p%20w', 'postgres://h/x?user=me'],
    [`postgres://me@h/x?password=p+w&${options}&sslpassword=s`, `postgres://me@h/x?${options}`],
  ] as const) {
    expect(await dumpServer(url, 'file', new AbortController().signal)).toBe(true)
    const argv = (await readFile(join(folder, 'pg_dump.argv'), 'utf8')).trim()
    expect([argv, await readFile(join(folder, 'pg_dump.password'), 'utf8')]).toEqual([
      `--format=custom --no-owner --no-acl --file=file --dbname=${shown}`,
      'p w\n',
    ])
  }
})

it.skipIf(process.platform === 'win32')(
  'parameters that only the driver of the service knows are translated or left out',
  async () => {
    const folder = await installed('pg_dump', `echo "$*" > "$0.argv"`)
    for (const query of [
      'sslmode=no-verify&sslrootcert=/ca.pem',
      'uselibpqcompat=true&sslmode=require&sslrootcert=/ca.pem',
      'statement_timeout=60000&sslmode=require&pgbouncer=true&sslrootcert=/ca.pem',
    ]) {
      expect(await dumpServer(`postgres://me@h/x?${query}`, 'file', new AbortController().signal)).toBe(true)
      const argv = await readFile(join(folder, 'pg_dump.argv'), 'utf8')
      expect(argv).toContain('--dbname=postgres://me@h/x?sslmode=require&sslrootcert=/ca.pem\n')
    }
  },
)

it.skipIf(process.platform === 'win32')('an error of several lines becomes one line', async () => {
  await installed('pg_restore', `printf 'error: one\\n  Command was: two\\n\\n' >&2; exit 1`)
  await expect(restoreServer('postgres://h/x', 'file')).rejects.toThrow(
    /^pg_restore failed: error: one Command was: two$/,
  )
})

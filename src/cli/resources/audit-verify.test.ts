import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { startWorld } from '../../../test/world.ts'
import { runInProcess } from '../in-process.fixture.ts'

it('passes only if a signed head was compared', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const key = world.service.firstAdminKey!
  const cwd = await emptyFolder()
  const env = { SERVICE_HOME: cwd, SERVICE_API_BASE: world.baseUrl, SERVICE_API_KEY: key }
  const svc = (...argv: string[]) => runInProcess(argv, { env, cwd, now: world.now })
  for (const org of ['acme', 'beta']) await svc('groups', 'create', 'g', '--org', org)
  const { body } = await world.request('GET', '/api/v1/audit/head', { key })
  const heads = (body as { heads: { org_id: string }[] }).heads
  const keep = async (name: string, org: string | null) => {
    const lines = heads.filter(({ org_id }) => org_id === org).map((head) => `${JSON.stringify(head)}\n`)
    await writeFile(join(cwd, name), lines.join(''))
    expect((await readFile(join(cwd, name), 'utf8')) === '').toBe(org === null)
  }
  await keep('acme.jsonl', 'acme')
  await keep('beta.jsonl', 'beta')
  await keep('empty.jsonl', null)
  const verify = async (file: string) => {
    const { exitCode, stdout, stderr } = await svc('audit', 'verify', '--org', 'acme', '--heads', file)
    return [exitCode, stdout.replace(/valid entries: \d+/, 'valid'), stderr.split('\n')[0]]
  }
  expect(await verify('acme.jsonl')).toEqual([0, 'acme: valid, signed heads compared: 1\n', ''])
  const none = 'acme: valid, signed heads compared: 0\n'
  expect(await verify('empty.jsonl')).toEqual([1, none, 'svc: No head was compared: empty.jsonl contains none.'])
  expect(await verify('beta.jsonl')).toEqual([
    1,
    none,
    'svc: No head was compared: those in beta.jsonl belong to other organizations.',
  ])
  // A full disk tore the first line; the second was written to a later one.
  const whole = await readFile(join(cwd, 'acme.jsonl'), 'utf8')
  await writeFile(join(cwd, 'torn.jsonl'), `${whole.slice(0, 90)}\n${whole}${whole.slice(0, 40)}`)
  expect(await verify('torn.jsonl')).toEqual([
    0,
    'acme: valid, signed heads compared: 1\n',
    'torn.jsonl: skipped lines that are not complete heads: 1, 3.',
  ])
  await writeFile(join(cwd, 'other.txt'), 'hello\n')
  expect((await verify('other.txt'))[2]).toBe(
    'svc: other.txt is not a file of signed heads: line 1 is not a JSON head.',
  )
  expect((await verify('nowhere'))[2]).toBe('svc: nowhere cannot be read: it does not exist.')
})

import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { certificate } from './certificate-check.ts'

const DAY_MS = 24 * 60 * 60 * 1000

test('doctor warns two weeks before the certificate expires', async () => {
  const read = (name: string) => readFile(new URL(`../../../test/fixtures/tls/${name}`, import.meta.url))
  const cert = await read('first.pem')
  const server = createServer({ cert, key: await read('first.key') }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const end = Date.parse(new X509Certificate(cert).validTo)
  const stateAt = async (time: number) =>
    (await certificate(`https://${address}`, new Date(time))).map(({ check, state }) => [check, state])
  expect(await stateAt(end - 15 * DAY_MS)).toEqual([['Certificate', 'ok']])
  expect(await stateAt(end - 13 * DAY_MS)).toEqual([['Certificate', 'warn']])
  expect(await certificate(`http://${address}`, new Date(end))).toEqual([])
  expect(await certificate('https://127.0.0.1:1', new Date(end))).toEqual([])
})

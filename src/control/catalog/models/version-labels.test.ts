import { describe, expect, it } from 'vitest'
import { boundOrganizations } from '../../../../test/organizations.ts'
import { formOf } from '../../../../test/world.ts'

interface Uploaded {
  readonly version: number
  readonly version_label: string
  readonly warnings: readonly string[]
  readonly message: string
}

const openOrganization = boundOrganizations()

const start = async () => {
  const { world, key } = await openOrganization()
  await world.request('POST', '/api/v1/models', { key, body: { name: 'm' } })
  let content = 0
  const upload = async (label?: string) => {
    const form = formOf(Uint8Array.of(++content), label === undefined ? {} : { version_label: label }, 'm.bin')
    const { status, body } = await world.request('POST', '/api/v1/models/m/versions/upload', { key, body: form })
    const { version, version_label, warnings, message } = body as Uploaded
    return status === 201 ? { version, version_label, warnings } : { status, message }
  }
  const numberOf = async (reference: string) => {
    const { body } = await world.request('GET', `/api/v1/models/m/versions/${reference}`, { key })
    return (body as { version: number }).version
  }
  return { world, key, upload, numberOf }
}

describe('no two versions of a model answer to the same label', () => {
  it('so a label that stands for a version without one is refused, naming it and the fix', async () => {
    const { upload } = await start()
    expect(await upload()).toMatchObject({ version: 1, version_label: '1.0.0' })
    expect(await upload('1.0.0')).toEqual({
      status: 409,
      message:
        'Version 1 of this model was uploaded without a label, and 1.0.0 stands for it. Choose another version_label.',
    })
    // Its own number is no conflict, and neither is that of a version to come.
    expect(await upload('2.0.0')).toMatchObject({ version: 2, version_label: '2.0.0', warnings: [] })
    expect(await upload('2.0.0')).toMatchObject({ status: 409 })
    expect(await upload('1.0.0-rc')).toMatchObject({ version: 3, version_label: '1.0.0-rc' })
  })

  it('so an upload without one gets the next free major, and a warning, if the label of its number is taken', async () => {
    const { upload, numberOf } = await start()
    expect(await upload('2.0.0')).toMatchObject({ version: 1 })
    expect(await upload('20240115.4.0')).toMatchObject({ version: 2, version_label: '20240115.4.0' })
    expect(await upload('4.0.0')).toMatchObject({ version: 3 })
    expect(await upload()).toEqual({
      version: 4,
      version_label: '20240116.0.0',
      warnings: ['Version 4 has the label 20240116.0.0, because version 3 has the label 4.0.0.'],
    })
    expect(await upload()).toMatchObject({ version: 5, version_label: '5.0.0', warnings: [] })
    for (const [reference, number] of [
      ['4.0.0', 3],
      ['4', 4],
      ['20240116.0.0', 4],
      ['5.0.0', 5],
    ] as const)
      expect(await numberOf(reference)).toBe(number)
  })

  it('of uploads at the same time too', async () => {
    const { upload } = await start()
    await upload()
    const labels = [undefined, '3.0.0', undefined, '2.0.0', '4.0.0', undefined]
    const made = await Promise.all(labels.map((label) => upload(label)))
    const taken = made.flatMap((one) => ('version_label' in one ? [one.version_label] : []))
    expect(new Set(taken).size).toBe(taken.length)
    for (const one of made) if ('status' in one) expect(one.status).toBe(409)
  })
})

describe('the fields of an upload', () => {
  it.each(['before', 'after'])('may stand %s the file, and an unknown one is named in a warning', async (place) => {
    const { world, key } = await start()
    const form = new FormData()
    const file = () => form.set('file', new Blob([Uint8Array.of(1, 2)]), 'm.bin')
    if (place === 'after') file()
    form.set('version_label', '7.1.0')
    form.set('description', 'late')
    form.set('colour', 'red')
    if (place === 'before') file()
    const response = await world.request('POST', '/api/v1/models/m/versions/upload', { key, body: form })
    expect(response).toMatchObject({ status: 201, body: { version_label: '7.1.0', description: 'late' } })
    const told = JSON.stringify([response.body, [...response.headers]])
    expect(told).toContain('unknown form field `colour` was ignored')
    const misspelled = new FormData()
    misspelled.set('file', new Blob([Uint8Array.of(3)]), 'm.bin')
    misspelled.set('version_lable', '8.0.0')
    expect(await world.request('POST', '/api/v1/models/m/versions/upload', { key, body: misspelled })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('`version_label`') },
    })
  })
})

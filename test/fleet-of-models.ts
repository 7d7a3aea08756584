import { expect } from 'vitest'
import { formOf, type World } from './world.ts'

/** Creates a catalog model with these versions, each a small file that contains its label. */
export const createModel = async (
  world: World,
  key: string,
  name: string,
  versions: readonly string[] = [],
): Promise<string> => {
  const created = await world.request('POST', '/api/v1/models', { key, body: { name } })
  expect(created.status).toBe(201)
  for (const version of versions) await uploadVersion(world, key, name, version)
  return (created.body as { id: string }).id
}

export const uploadVersion = async (world: World, key: string, name: string, version: string): Promise<void> => {
  const uploaded = await world.request('POST', `/api/v1/models/${name}/versions/upload`, {
    key,
    body: formOf(`weights of ${name} ${version}`, { version_label: version }),
  })
  expect(uploaded.status).toBe(201)
}

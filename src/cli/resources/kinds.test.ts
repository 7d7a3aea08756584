import { expect, it } from 'vitest'
import { readPaths } from '../../../test/api-document.ts'
import { LISTS } from './kinds.ts'
import { MAX_PAGE } from './requests.ts'

interface Operation {
  readonly parameters?: readonly {
    readonly name: string
    readonly required?: boolean
    readonly schema: { readonly maximum?: number }
  }[]
}

it('each kind has the organization and the page size that its list requires', () => {
  const paths = readPaths<Operation>()
  for (const [kind, { request, ofOrg = false, maxPage = MAX_PAGE }] of Object.entries(LISTS)) {
    const { parameters = [] } = paths[request.replace('GET ', '')]!.get!
    const limit = parameters.find(({ name }) => name === 'limit')
    expect([kind, maxPage]).toEqual([kind, limit?.schema.maximum ?? null])
    if (parameters.some(({ name, required }) => name === 'org_id' && required))
      expect([kind, ofOrg]).toEqual([kind, true])
  }
})

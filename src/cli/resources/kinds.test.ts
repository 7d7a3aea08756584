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

it('each kind has the organization and the page size that its list requires, and is searched if it can be', () => {
  const paths = readPaths<Operation>()
  for (const [kind, { request, ofOrg = false, maxPage = MAX_PAGE, isSearchable = false }] of Object.entries(LISTS)) {
    const { parameters = [] } = paths[request.replace('GET ', '')]!.get!
    const limit = parameters.find(({ name }) => name === 'limit')
    expect([kind, maxPage]).toEqual([kind, limit?.schema.maximum ?? null])
    expect([kind, isSearchable]).toEqual([kind, parameters.some(({ name }) => name === 'q')])
    if (parameters.some(({ name, required }) => name === 'org_id' && required))
      expect([kind, ofOrg]).toEqual([kind, true])
  }
})

import { Type } from 'typebox'
import { badRequest } from '../../../domain/errors.ts'

const named = (description: string) => Type.Optional(Type.String({ description }))

/** Whose devices train: the fields of rounds and of jobs, which once had names of their own; each takes both. */
export const ReachFields = {
  group: named('Id or name of a device group; only its members take part'),
  group_id: named('The same as group'),
  federation: named('Id of a federation; devices of all active members take part'),
  federation_id: named('The same as federation'),
}

type Reach = { readonly [Field in keyof typeof ReachFields]?: string }

/** Throws bad_request when both names of a field are there and say different things. */
export const reachOf = (body: Reach) => ({
  group: either(body, 'group', 'group_id'),
  federation: either(body, 'federation', 'federation_id'),
})

const either = (body: Reach, name: keyof Reach, alias: keyof Reach): string | undefined => {
  const [one, other] = [body[name], body[alias]]
  if (one !== undefined && other !== undefined && one !== other) {
    throw badRequest(`${name} is '${one}' and ${alias} is '${other}', which mean the same. Send one of them.`)
  }
  return one ?? other
}

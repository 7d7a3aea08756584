import { badRequest } from '../domain/errors.ts'
import type { ContainerPlan } from './container-plan.ts'
import { formatOf } from './detect.ts'
import type { WeightFile, WeightFormat } from './formats.ts'
import type { Layout } from './layout.ts'

/**
 * A new container of the same format as one that cannot be patched. The old PyTorch form becomes the zip form, which every
 * torch.load since 1.6 opens. Throws bad_request where the format cannot hold the layout.
 */
export const planWeightFile = (from: WeightFormat, layout: Layout): ContainerPlan & { readonly file: WeightFile } => {
  const format = formatOf(from).writtenAs ?? from
  const { plan, title } = formatOf(format)
  if (plan === undefined)
    throw badRequest(`The model is ${title} whose tensors share bytes, so no result can be written into a copy of it.`)
  const made = plan(layout)
  return { ...made, file: { format, ...made.file } }
}

import { badRequest } from '../domain/errors.ts'
import type { ContainerPlan } from './container-plan.ts'
import { formatOf } from './detect.ts'
import type { WeightFile, WeightFormat } from './formats.ts'
import type { Layout } from './layout.ts'

/**
 * Plans a new container in the format of one that cannot be patched. The legacy PyTorch format becomes the zip format, which
 * torch.load has opened since 1.6. Throws bad_request if the format cannot hold the layout.
 */
export const planWeightFile = (from: WeightFormat, layout: Layout): ContainerPlan & { readonly file: WeightFile } => {
  const format = formatOf(from).writtenAs ?? from
  const { plan, title } = formatOf(format)
  if (plan === undefined)
    throw badRequest(`The model is ${title} whose tensors share bytes, so no result can be written into a copy of it.`)
  const made = plan(layout)
  return { ...made, file: { format, ...made.file } }
}

import { badRequest } from '../domain/errors.ts'
import type { ContainerPlan } from './container-plan.ts'
import type { Layout } from './layout.ts'
import { elementCount, type WeightFormat } from './weight-file.ts'
import { planNpy, planNpz } from './write-npz.ts'
import { planRaw } from './write-raw.ts'
import { planSafetensors } from './write-safetensors.ts'
import { planTorch } from './write-torch.ts'

/**
 * A fresh container of the same kind as one that cannot be patched. The old PyTorch form becomes the zip form, which
 * every torch.load since 1.6 opens. Throws bad_request where the format cannot hold the layout.
 */
export const planContainer = (format: WeightFormat, layout: Layout): ContainerPlan => {
  switch (format) {
    case 'safetensors':
      return planSafetensors(layout)
    case 'torch-zip':
    case 'torch-legacy':
      return planTorch(layout)
    case 'npz':
      return planNpz(layout)
    case 'npy':
    case 'raw': {
      const [only] = layout
      if (only === undefined || layout.length !== 1) throw badRequest(`A ${format} file holds exactly one tensor.`)
      if (format === 'raw' && only.dtype !== 'f32') throw badRequest('A raw vector holds float32 values only.')
      return format === 'npy' ? planNpy(only) : planRaw(elementCount(only.shape))
    }
  }
}

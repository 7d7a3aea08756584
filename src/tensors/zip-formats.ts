import type { VersionFormat } from '../domain/model.ts'
import type { FormatDescriptor, Sample } from './format-descriptor.ts'
import { readKeras } from './hdf5.ts'
import { readNpz } from './npz.ts'
import { findTorchPickle, looksExported, readTorchZip } from './torch-zip.ts'
import { planNpz } from './write-npz.ts'
import { planTorch } from './write-torch.ts'
import { readZip } from './zip.ts'

/** The frameworks whose weights may be plain arrays. */
export const ARRAYS: readonly VersionFormat[] = ['pytorch', 'tensorflow', 'sklearn', 'xgboost']

const hasMember = ({ members }: Sample, matches: (name: string) => boolean): boolean => members?.some(matches) ?? false

/** The rows of FORMATS for zip archives, which are told apart by the names of their members. */
export const ZIP_FORMATS = {
  'torch-zip': {
    title: 'a PyTorch .pt file',
    extensions: ['pt', 'pth'],
    read: (source) => readTorchZip(source, readZip(source)),
    plan: planTorch,
    versions: ['pytorch'],
    decides: true,
    sniff: ({ members }) => members !== null && findTorchPickle(members.map((name) => ({ name }))) !== undefined,
  },
  'torch-program': {
    title: 'an exported PyTorch program',
    extensions: ['pt2'],
    check: readZip,
    instead:
      'Its graph is used with the weights of other versions of the model. To train, push the weights as a separate version.',
    versions: ['pytorch'],
    decides: true,
    sniff: ({ members }) => members !== null && looksExported(members),
  },
  npz: {
    title: 'a NumPy .npz file',
    extensions: ['npz'],
    read: (source, limits) => readNpz(source, readZip(source), limits),
    plan: planNpz,
    versions: ARRAYS,
    decides: false,
    sniff: (sample) => hasMember(sample, (name) => name.endsWith('.npy')),
  },
  keras: {
    title: 'a Keras model',
    extensions: ['keras'],
    read: (source) => readKeras(source, readZip(source)),
    mayBeOpaque: true,
    check: readZip,
    versions: ['tensorflow'],
    decides: true,
    sniff: (sample) => hasMember(sample, (name) => name === 'model.weights.h5' || name === 'model.weights.json'),
  },
  zip: {
    title: 'a zip archive, but neither a PyTorch file nor a .npz',
    extensions: ['zip'],
    check: readZip,
    versions: [],
    decides: false,
    sniff: ({ members }) => members !== null,
  },
} as const satisfies Readonly<Record<string, FormatDescriptor>>

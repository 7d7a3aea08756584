import type { AggregationWorkers } from '../../../aggregation/aggregation-workers.ts'
import { openFile } from '../../../aggregation/files.ts'
import type { RecognizedContent } from '../../../domain/model.ts'
import { detectFormat, formatOf } from '../../../tensors/detect.ts'
import { whyOpaque } from '../../../tensors/read-weights.ts'

/**
 * Recognizes the format of a file by its content; null if unknown. Only small pieces are read here: a pickle of a few megabytes
 * can take seconds to read, so content that may be opaque is read in a thread.
 */
export const createRecognition =
  (workers: Pick<AggregationWorkers, 'whyOpaque'>) =>
  async (path: string): Promise<RecognizedContent | null> => {
    const file = openFile(path, 'r')
    try {
      const format = detectFormat(file)
      if (format === null) return null
      const { title, versions, decides, mayBeOpaque } = formatOf(format)
      const advice = mayBeOpaque ? await workers.whyOpaque(path) : whyOpaque(file, format)
      return { title, versions, decides, readable: advice === null, advice: advice ?? '' }
    } finally {
      file.close()
    }
  }

import { expect, it } from 'vitest'
import { limitAdvice } from './resource-limits.ts'

interface Report {
  readonly userLimits?: Readonly<Record<string, { readonly soft: number | string }>>
}
const { userLimits } = process.report.getReport() as Report
const isLimited = ['file_size_blocks', 'virtual_memory_kbytes'].some((name) => userLimits?.[name]?.soft !== 'unlimited')

it.skipIf(isLimited)('does not blame a limit that is not set', () => {
  // A backup to a FAT32 disk, which has no files of 4 GB, and a machine without overcommit.
  expect(limitAdvice(new Error('The backup failed: EFBIG: file too large, write'))).toBeNull()
  expect(limitAdvice(new RangeError('WebAssembly.Memory(): could not allocate memory'))).toBeNull()
})

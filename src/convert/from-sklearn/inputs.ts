import { columnParts, stepsOf } from './compose.ts'
import { categoriesOf } from './encoders.ts'
import { Estimator } from './estimator.ts'

const MAX_DEPTH = 16

/** Which of its columns an estimator expects to be texts: those that it, or what comes first in it, encodes. */
export const textColumns = (estimator: Estimator, columns: number, depth = 0): boolean[] => {
  const none = Array<boolean>(columns).fill(false)
  if (depth > MAX_DEPTH) return none
  const inner = (value: unknown, own: number): boolean[] =>
    typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'object'
      ? textColumns(Estimator.of(value as never, estimator.reading, 'A step'), own, depth + 1)
      : Array<boolean>(own).fill(false)
  switch (estimator.type) {
    case 'OneHotEncoder':
    case 'OrdinalEncoder':
      return categoriesOf(estimator).map((own) => 'texts' in own)
    case 'LabelEncoder':
      return ['texts' in estimator.labels('classes_')]
    case 'Pipeline': {
      const first = stepsOf(estimator, 'steps').find(({ value }) => value !== null && value !== 'passthrough')
      return inner(first?.value, columns)
    }
    case 'GridSearchCV':
    case 'RandomizedSearchCV':
      return inner(estimator.get('best_estimator_'), columns)
    case 'ColumnTransformer': {
      for (const part of columnParts(estimator, columns)) {
        const own = inner(part.value, part.columns.length)
        for (const [at, column] of part.columns.entries()) none[column] ||= own[at] === true
      }
      return none
    }
    default:
      return none
  }
}

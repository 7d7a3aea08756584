import { isArray } from '../../tensors/numpy-pickle.ts'
import { isObject } from '../../tensors/sklearn-objects.ts'
import { columnParts } from './compose.ts'
import { categoriesOf } from './encoders.ts'
import { Estimator } from './estimator.ts'

const MAX_DEPTH = 16

/** Which of its columns an estimator expects to be texts: those that it, or what comes first in it, encodes. */
export const textColumns = (estimator: Estimator, columns: number, depth = 0): boolean[] => {
  const none = Array<boolean>(columns).fill(false)
  if (depth > MAX_DEPTH) return none
  switch (estimator.type) {
    case 'OneHotEncoder':
    case 'OrdinalEncoder':
    case 'TargetEncoder':
      return categoriesOf(estimator).map((own) => 'texts' in own)
    case 'CountVectorizer':
    case 'TfidfVectorizer':
      return [true]
    case 'LabelEncoder':
      return ['texts' in estimator.labels('classes_')]
    case 'SimpleImputer': {
      const statistics = estimator.get('statistics_')
      return none.map((_, at) => isArray(statistics) && typeof statistics.items[at] === 'string')
    }
    case 'ColumnTransformer': {
      for (const part of columnParts(estimator, columns)) {
        if (!isObject(part.value)) continue
        const own = textColumns(new Estimator(part.value, estimator.reading), part.columns.length, depth + 1)
        for (const [at, column] of part.columns.entries()) none[column] ||= own[at] === true
      }
      return none
    }
    default: {
      const inner = estimator.first()
      const own = inner === null ? none : textColumns(inner, columns, depth + 1)
      return own.length === columns ? own : none
    }
  }
}

import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Equality of values. Values of different kinds are not equal; that is no error.
enum Equality {
  static func areEqual(
    _ left: EvaluationValue, _ right: EvaluationValue, _ options: ComparisonOptions = []
  ) -> Bool {
    switch (left, right) {
    case (.value(.string(let left)), .value(.string(let right))):
      return TextComparison.areEqual(left, right, options)
    case (.value(.int(let left)), .value(.int(let right))): return left == right
    case (.value(.url(let left)), .value(.url(let right))):
      return CodeUnits.areEqual(left.absoluteString, right.absoluteString)
    case (.value(.composite(let left)), .value(.composite(let right))):
      return areEqual(left.mapValues(EvaluationValue.value), right.mapValues(EvaluationValue.value), options)
    // An object's composite may come as a dictionary, with its Floats as such.
    case (.value(.composite(let left)), .dictionary(let right)),
      (.dictionary(let right), .value(.composite(let left))):
      return areEqual(left.mapValues(EvaluationValue.value), right, options)
    case (.value(.null), .value(.null)): return true
    case (.value(.date(let left)), .value(.date(let right))): return left == right
    case (.value(.data(let left)), .value(.data(let right))): return left == right
    case (.value(.uuid(let left)), .value(.uuid(let right))): return left == right
    case (.collection(let left), .collection(let right)):
      return left.count == right.count && zip(left, right).allSatisfy { areEqual($0, $1, options) }
    case (.dictionary(let left), .dictionary(let right)): return areEqual(left, right, options)
    case (.subject(let left), .subject(let right)): return left.isSameObject(as: right)
    case (.subject(let subject), .reference(let reference)),
      (.reference(let reference), .subject(let subject)):
      return subject.isSameObject(as: reference)
    case (.reference(let left), .reference(let right)): return left.isSame(as: right)
    default:
      guard let left = Number(left), let right = Number(right) else { return false }
      return Number.order(left, right) == 0
    }
  }

  private static func areEqual(
    _ left: [String: EvaluationValue], _ right: [String: EvaluationValue], _ options: ComparisonOptions
  ) -> Bool {
    left.count == right.count
      && left.allSatisfy { key, value in right[key].map { areEqual(value, $0, options) } ?? false }
  }
}

import CDModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Aggregates of many values. All aggregates except a count ignore nil values.
enum Aggregation {
  static func aggregate(
    _ values: [EvaluationValue], _ collectionOperator: CollectionOperator
  ) throws(EvaluationError) -> EvaluationValue {
    let word = "@\(collectionOperator.rawValue)"
    switch collectionOperator {
    case .count: return .int(Int64(values.count))
    case .sum: return try sum(values, word).value
    case .avg: return try average(values, word)
    case .min: return try extreme(values, word) { $0 < 0 }
    case .max: return try extreme(values, word) { $0 > 0 }
    case .unionOfObjects: return .collection(values)
    case .distinctUnionOfObjects: return .collection(distinct(values))
    }
  }

  /// Returns the sum, or 0 if there are no numbers. The sum of Floats is a double.
  ///
  /// Integers are added exactly: whether their sum fits does not depend on their order.
  static func sum(_ values: [EvaluationValue], _ word: String) throws(EvaluationError) -> Number {
    let numbers = try numbers(values, word)
    var integers: Int128 = 0
    var count = 0
    while count < numbers.count, case .int(let integer) = numbers[count] {
      integers += Int128(integer)
      count += 1
    }
    guard let exact = Int64(exactly: integers) else { throw .overflow(operation: word) }
    var total = Number.int(exact)
    for number in numbers[count...] {
      do {
        total = try Arithmetic.calculate(total, .add, widened(number))
      } catch .overflow {
        throw .overflow(operation: word)
      }
    }
    return total
  }

  /// Returns the mean, or nil if there are no numbers. If one of the numbers is a decimal, the mean is a decimal;
  /// otherwise, it is a double.
  static func average(_ values: [EvaluationValue], _ word: String) throws(EvaluationError) -> EvaluationValue
  {
    let numbers = try numbers(values, word)
    guard !numbers.isEmpty else { return .null }
    if numbers.contains(where: { if case .decimal = $0 { true } else { false } }) {
      return try Arithmetic.calculate(try sum(values, word), .divide, .int(Int64(numbers.count))).value
    }
    return try Arithmetic.checked(mean(numbers), word).value
  }

  private static func mean(_ numbers: [Number]) -> Double {
    // Integers are added as integers as long as the sum does not overflow, because a sum can have more digits than a
    // double.
    var exact: Int64 = 0
    for number in numbers {
      guard case .int(let integer) = number else { return total(numbers) / Double(numbers.count) }
      let (sum, overflow) = exact.addingReportingOverflow(integer)
      if overflow { return total(numbers) / Double(numbers.count) }
      exact = sum
    }
    return Double(exact) / Double(numbers.count)
  }

  private static func total(_ numbers: [Number]) -> Double {
    numbers.reduce(0) { $0 + $1.double }
  }

  /// Returns the least or the greatest value, or nil if there are no values.
  static func extreme(
    _ values: [EvaluationValue], _ word: String, _ isBetter: (Int) -> Bool
  ) throws(EvaluationError) -> EvaluationValue {
    var best = EvaluationValue.null
    for value in values where !value.isNull {
      if best.isNull {
        best = value
        continue
      }
      do {
        if isBetter(try SortOrder.order(value, best)) { best = value }
      } catch .incomparable(_, let left, let right) {
        throw .incomparable(operator: word, left: left, right: right)
      }
    }
    return best
  }

  /// Returns the middle number, or the mean of the two middle numbers, in the type of a mean. Returns nil if there are no
  /// numbers.
  static func median(_ values: [EvaluationValue]) throws(EvaluationError) -> EvaluationValue {
    let numbers = try numbers(values, "median").sorted { (Number.order($0, $1) ?? 0) < 0 }
    guard !numbers.isEmpty else { return .null }
    let middle = numbers.count / 2
    let first = numbers.count % 2 == 1 ? middle : middle - 1
    return try average(numbers[first...middle].map(\.value), "median")
  }

  /// Returns the numbers that occur most often, in ascending order.
  static func modes(_ values: [EvaluationValue]) throws(EvaluationError) -> EvaluationValue {
    let numbers = try numbers(values, "mode").sorted { (Number.order($0, $1) ?? 0) < 0 }
    var runs: [(number: Number, count: Int)] = []
    for number in numbers {
      if let last = runs.last, Number.order(last.number, number) == 0 {
        runs[runs.count - 1].count += 1
      } else {
        runs.append((number, 1))
      }
    }
    let most = runs.map(\.count).max() ?? 0
    return .collection(runs.filter { $0.count == most }.map(\.number.value))
  }

  /// Returns the standard deviation of a whole population, or nil if there are no numbers.
  static func standardDeviation(_ values: [EvaluationValue]) throws(EvaluationError) -> EvaluationValue {
    let numbers = try numbers(values, "stddev").map(\.double)
    guard !numbers.isEmpty else { return .null }
    let mean = numbers.reduce(0, +) / Double(numbers.count)
    let squares = numbers.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
    return try Arithmetic.checked((squares / Double(numbers.count)).squareRoot(), "stddev").value
  }

  static func distinct(_ values: [EvaluationValue]) -> [EvaluationValue] {
    var result: [EvaluationValue] = []
    for value in values where !result.contains(where: { Equality.areEqual($0, value) }) {
      result.append(value)
    }
    return result
  }

  private static func widened(_ number: Number) -> Number {
    if case .float(let number) = number { return .double(Double(number)) }
    return number
  }

  private static func numbers(_ values: [EvaluationValue], _ word: String) throws(EvaluationError) -> [Number]
  {
    var numbers: [Number] = []
    numbers.reserveCapacity(values.count)
    for value in values where !value.isNull {
      guard let number = Number(value) else { throw .wrongOperand(operation: word, found: value.kindName) }
      numbers.append(number)
    }
    return numbers
  }
}

/// An implementation of a workload.
struct Contender {
  let name: String
  /// Does the work once and returns the CPU seconds that it took.
  let run: () throws -> Double
}

/// The times of several contenders for the same work.
struct Rounds {
  /// The times of each contender, by round.
  let times: [String: [Double]]
  let count: Int

  /// Runs all contenders in each round. Each round starts with the next contender, so that a contender does not always
  /// follow the same other one.
  init(_ contenders: [Contender], count: Int) throws {
    self.count = count
    var times: [String: [Double]] = [:]
    for round in 0..<count {
      for place in contenders.indices {
        let contender = contenders[(place + round) % contenders.count]
        times[contender.name, default: []].append(try contender.run())
      }
    }
    self.times = times
  }

  /// The median time in seconds.
  func median(_ contender: String) -> Double { Self.median(times[contender] ?? []) }

  /// The median of the rounds' ratios of one contender's time to another's.
  func ratio(_ contender: String, to other: String) -> Double {
    Self.median(zip(times[contender] ?? [], times[other] ?? []).map { $0 / $1 })
  }

  /// The median of the rounds' differences between two contenders' times, in seconds.
  func difference(_ contender: String, _ other: String) -> Double {
    Self.median(zip(times[contender] ?? [], times[other] ?? []).map { $0 - $1 })
  }

  static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return .nan }
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }
}

import Foundation

/// One measured number.
struct Figure {
  enum Value {
    /// Milliseconds of CPU time.
    case milliseconds(Double)
    /// How often another contender's time.
    case ratio(Double)
  }

  let workload: String
  let contender: String
  let value: Value
  /// The value that is to be reached, in the same unit; nil where there is none.
  let goal: Double?

  init(_ workload: String, _ contender: String, _ value: Value, goal: Double? = nil) {
    self.workload = workload
    self.contender = contender
    self.value = value
    self.goal = goal
  }

  /// The number, its unit's name and whether the goal is met.
  private var parts: (key: String, number: Double, isMet: Bool) {
    switch value {
    case .milliseconds(let number): ("cpu_ms", number, number <= goal ?? .infinity)
    case .ratio(let number): ("ratio", number, number <= goal ?? .infinity)
    }
  }

  private static func text(_ number: Double) -> String {
    String(format: number < 10 ? "%.2f" : "%.1f", number)
  }

  /// A line for people.
  var text: String {
    let (key, number, isMet) = parts
    let unit = key == "ratio" ? "x" : " ms CPU"
    let name = (workload + " " + contender).padding(toLength: 44, withPad: " ", startingAt: 0)
    let end = goal.map { "   goal \(Self.text($0))\(unit)\(isMet ? "" : "  MISSED")" } ?? ""
    return name + Self.text(number) + unit + end
  }

  /// A line for programs: the workload, the contender and `cpu_ms` or `ratio`.
  var json: String {
    let (key, number, _) = parts
    let goal = goal.map { ",\"goal\":\($0)" } ?? ""
    return "{\"workload\":\"\(workload)\",\"contender\":\"\(contender)\",\"\(key)\":\(number)\(goal)}"
  }
}

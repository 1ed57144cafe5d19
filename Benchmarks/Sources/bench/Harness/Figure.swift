import Foundation

/// A measured result of one contender: its CPU time, its ratio to the first contender's time, or both.
struct Figure {
  let workload: String
  let contender: String
  /// The median of the ratios of all rounds.
  var ratio: Double?
  /// The median of the CPU time in milliseconds.
  var milliseconds: Double?
  /// Memory in mebibytes.
  var mebibytes: Double?
  let rounds: Int
  /// The goal for the ratio, or, without a ratio, for the other value. Nil if there is no goal.
  let goal: Double?

  init(
    _ workload: String, _ contender: String, ratio: Double? = nil, milliseconds: Double? = nil,
    mebibytes: Double? = nil, rounds: Int, goal: Double? = nil
  ) {
    self.workload = workload
    self.contender = contender
    self.ratio = ratio
    self.milliseconds = milliseconds
    self.mebibytes = mebibytes
    self.rounds = rounds
    self.goal = goal
  }

  private static func text(_ number: Double) -> String {
    String(format: number < 10 ? "%.2f" : "%.1f", number)
  }

  private func padded(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  /// The result as a line for people.
  var text: String {
    var line = (workload + " " + contender).padding(toLength: 40, withPad: " ", startingAt: 0)
    line += padded(ratio.map { Self.text($0) + " x" } ?? "", 10)
    line += padded(milliseconds.map { Self.text($0) + " ms" } ?? "", 12)
    if let mebibytes { line += padded(Self.text(mebibytes) + " MiB", 12) }
    guard let goal, let value = ratio ?? milliseconds ?? mebibytes else { return line }
    return line + "   goal \(Self.text(goal))" + (value <= goal ? "" : "  MISSED")
  }

  /// The result as a line of JSON.
  var json: String {
    var members = ["\"workload\":\"\(workload)\"", "\"contender\":\"\(contender)\""]
    for (key, value) in [("ratio", ratio), ("cpu_ms", milliseconds), ("mib", mebibytes), ("goal", goal)] {
      if let value { members.append("\"\(key)\":\(value)") }
    }
    members.append("\"rounds\":\(rounds)")
    return "{" + members.joined(separator: ",") + "}"
  }
}

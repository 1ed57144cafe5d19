import CDModel
import CDRuntime
import Foundation

/// The result of a rehearsal as text.
struct RehearsalText {
  let report: MigrationReport
  let store: String
  let showsSQL: Bool

  var text: String {
    var lines = [head]
    for step in report.steps { lines += self.lines(of: step) }
    if !report.entities.isEmpty {
      lines += ["", Lines.table(["Entity", "Objects", "Then"], report.entities.map(Self.row))]
    }
    if !report.brokenRules.isEmpty {
      lines += [
        "",
        "objects that break a rule of version \(report.reached); they cannot be saved until they are corrected:",
      ]
      lines += report.brokenRules.map { "  \($0)" }
    }
    if !report.steps.isEmpty { lines += ["", room] }
    if let refusal = report.refusal {
      lines.append("the migration would fail, and leave the store unchanged:")
      lines.append("  \(advice ?? "\(refusal)")")
    } else if !report.steps.isEmpty {
      lines.append("it would succeed")
    }
    return lines.joined(separator: "\n")
  }

  /// Only the steps with their statements, for a rehearsal without objects.
  var plan: String {
    var lines: [String] = []
    for step in report.steps {
      lines += self.lines(of: step, isTimed: false).dropFirst(lines.isEmpty ? 1 : 0)
    }
    if report.steps.isEmpty, report.succeeds {
      lines.append("versions \(report.source) and \(report.destination) store the same: nothing is done")
    }
    if let refusal = report.refusal { lines += ["", "it would fail:", "  \(advice ?? "\(refusal)")"] }
    return lines.joined(separator: "\n")
  }

  private var head: String {
    if report.steps.isEmpty, report.succeeds {
      return report.source == report.destination
        ? "\(store): version \(report.source) already"
        : "\(store): version \(report.source) to version \(report.destination), which stores the same"
    }
    return "\(store): rehearsal of version \(report.source) to version \(report.destination), on a copy"
  }

  private var room: String {
    let way = report.isInPlace ? "in place, in one transaction" : "as a new file"
    let free = report.freeSpace.map { "; \(Quantity.bytes($0)) are free" } ?? ""
    return "made \(way), in \(Quantity.time(report.duration)); \(Quantity.bytes(report.fileSize)) are there, "
      + "\(Quantity.bytes(report.neededSpace)) more are needed\(free)"
  }

  /// Advice for a step that needs the app's own code, which this program does not have.
  private var advice: String? {
    guard let refusal = report.refusal, case .missingPolicy(let mapping) = refusal.reason else { return nil }
    let place = refusal.step.map { "the step from \($0)" } ?? "a step"
    return
      "\(place) needs the app's own code for '\(mapping)', which the command does not have: rehearse the migration "
      + "in the app, with MigrationRehearsal"
      + (report.reached == report.source ? "" : "; the steps before it were rehearsed")
  }

  private func lines(of step: MigrationReport.Step, isTimed: Bool = true) -> [String] {
    let name = "\(step.step.source)-\(step.step.destination).mapping.yaml"
    let end = step.isDone ? isTimed ? ", \(Quantity.time(step.duration))" : "" : ", not made"
    var lines = ["", "\(step.kind.rawValue)\(end):"]
    lines += step.step.planText(mapping: name).split(separator: "\n").map(String.init)
    if !step.losses.isEmpty {
      lines.append("  lost:")
      lines += step.losses.map { loss in
        let number = loss.count.map { ": \(Self.count($0, loss.unit))" } ?? ""
        return "    \(loss.description)\(number)" + (loss.isConfirmed ? "" : "; this loss is not confirmed")
      }
    }
    if !step.problems.isEmpty {
      lines.append("  obstacles:")
      lines += step.problems.map { "    \($0)" }
    }
    if showsSQL, !step.statements.isEmpty {
      lines.append("  statements:")
      lines += step.statements.map { "    \($0.sql);" + ($0.count > 1 ? "  -- \($0.count) times" : "") }
    }
    return lines
  }

  private static func count(_ number: Int, _ unit: MigrationReport.Loss.Unit) -> String {
    switch unit {
    case .objects: Quantity.count(number, "object")
    case .values: Quantity.count(number, "value")
    case .relations: Quantity.count(number, "relation")
    }
  }

  private static func row(_ entity: MigrationReport.EntityCount) -> [String] {
    let names = [entity.source, entity.destination].compactMap(\.self)
    let name = names.count == 2 && names[0] == names[1] ? names[0] : names.joined(separator: " → ")
    return [name, entity.before.map(String.init) ?? "new", entity.after.map(String.init) ?? "gone"]
  }
}

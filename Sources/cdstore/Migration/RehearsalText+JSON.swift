import CDModel
import CDRuntime
import CDTooling
import Foundation

// The result of a rehearsal as JSON.
extension RehearsalText {
  var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init("store", .string(store)), .init("dryRun", .bool(true)), .init("from", .count(report.source)),
      .init("to", .count(report.destination)), .init("reached", .count(report.reached)),
      .init("succeeds", .bool(report.succeeds)), .init("inPlace", .bool(report.isInPlace)),
      .init("seconds", .seconds(report.duration)), .init("fileSize", .int(report.fileSize)),
      .init("neededSpace", .int(report.neededSpace)),
    ]
    if let free = report.freeSpace { members.append(.init("freeSpace", .int(free))) }
    members += [
      .init("steps", .array(report.steps.map(json))),
      .init(
        "entities",
        .array(
          report.entities.map { entity in
            .object(
              [
                entity.source.map { .init("from", .string($0)) },
                entity.destination.map { .init("to", .string($0)) },
                entity.before.map { .init("before", .count($0)) },
                entity.after.map { .init("after", .count($0)) },
              ].compactMap { $0 })
          })), .init("brokenRules", .array(report.brokenRules.map(json))),
    ]
    if let refusal = report.refusal { members.append(.init("refusal", .string("\(refusal)"))) }
    return .object(members)
  }

  private func json(_ step: MigrationReport.Step) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init("kind", .string(step.kind.rawValue)), .init("done", .bool(step.isDone)),
      .init("seconds", .seconds(step.duration)),
      .init("plan", step.step.planJSON(mapping: "\(step.step.source)-\(step.step.destination).mapping.yaml")),
      .init(
        "losses",
        .array(
          step.losses.map { loss in
            .object(
              [
                .init("what", .string(loss.description)), loss.count.map { .init("count", .count($0)) },
                .init("unit", .string(loss.unit.rawValue)), .init("confirmed", .bool(loss.isConfirmed)),
              ].compactMap { $0 })
          })), .init("problems", .array(step.problems.map(json))),
    ]
    if showsSQL {
      members.append(
        .init(
          "statements",
          .array(
            step.statements.map {
              .object([.init("sql", .string($0.sql)), .init("count", .count($0.count))])
            })))
    }
    return .object(members)
  }

  private func json(_ problem: MigrationReport.Problem) -> JSONValue {
    .object(
      [
        .init("entity", .string(problem.entity)), problem.property.map { .init("property", .string($0)) },
        .init("rule", .string(problem.rule)), .init("count", .count(problem.count)),
        .init("objects", .array(problem.objects.map { .string($0.absoluteString) })),
      ].compactMap { $0 })
  }
}

import CDGenerator
import CDModel
import CDSchema

extension GenerationProblem {
  /// The problem as a diagnostic, with its position in the current version's file.
  func diagnostic(in loaded: LoadedModel, _ version: Int) -> Diagnostic {
    let location = element(in: loaded, version).flatMap { loaded.positions.nearest(to: $0) }
    return Diagnostic(
      .error, at: location ?? SourceLocation(path: loaded.files.first?.path ?? "", line: 1, column: 1),
      description)
  }

  /// The element with the problem, found by its names, because the problem does not contain its sort.
  private func element(in loaded: LoadedModel, _ version: Int) -> SchemaElement? {
    guard let type else { return .version(version) }
    var candidates: [SchemaElement] = []
    if let member {
      candidates += [
        .part(.attribute(entity: type, name: member), version: version),
        .part(.relationship(entity: type, name: member), version: version),
        .part(.fetchedProperty(entity: type, name: member), version: version),
        .part(.fetchTemplate(entity: type, name: member), version: version),
        .part(.field(composite: type, name: member), version: version),
        .enumCase(version: version, enumeration: type, name: member),
      ]
    }
    candidates += [
      .part(.entity(type), version: version), .part(.composite(type), version: version),
      .part(.enumeration(type), version: version),
    ]
    return candidates.first { loaded.positions[$0] != nil } ?? .version(version)
  }
}

import CDGenerator
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
  private func element(in loaded: LoadedModel, _ version: Int) -> ModelElement? {
    guard let type else { return .version(version) }
    var candidates: [ModelElement] = []
    if let member {
      candidates += [
        .attribute(version: version, entity: type, name: member),
        .relationship(version: version, entity: type, name: member),
        .fetchedProperty(version: version, entity: type, name: member),
        .fetchTemplate(version: version, entity: type, name: member),
        .field(version: version, composite: type, name: member),
        .enumCase(version: version, enumeration: type, name: member),
      ]
    }
    candidates += [
      .entity(version: version, name: type), .composite(version: version, name: type),
      .enumeration(version: version, name: type),
    ]
    return candidates.first { loaded.positions[$0] != nil } ?? .version(version)
  }
}

import CDModel

/// Checks a whole model: first each version, then the relations between versions.
struct ModelValidator {
  let name: String
  let head: DecodedModelFile?
  let versions: [DecodedVersion]
  /// Versions whose files exist but could not be read.
  let unreadable: Set<Int>
  /// The numbers of the locked versions.
  let locked: Set<Int>
  let positions: ElementPositions
  let diagnostics: DiagnosticCollector

  /// Returns the versions with their bases filled in, and the number of the current version, if there is one.
  func validate() -> (versions: [ModelVersion], current: Int?) {
    let numbers = Set(versions.map(\.version.number)).union(unreadable)
    var result: [ModelVersion] = []
    for decoded in versions {
      VersionValidator(
        modelName: name, decoded: decoded, isLocked: locked.contains(decoded.version.number),
        positions: positions, diagnostics: diagnostics
      ).validate()
      var version = decoded.version
      if decoded.hasBases {
        validateBases(of: version, numbers: numbers)
      } else if let before = numbers.filter({ $0 < version.number }).max() {
        version.basedOn = [before]
      }
      let bases = version.basedOn.compactMap { base in
        result.first { $0.number == base }.map { EntityGraph($0) }
      }
      let isBaseUnreadable = version.basedOn.contains { unreadable.contains($0) || !numbers.contains($0) }
      if !isBaseUnreadable {
        RenameValidator(
          version: version, graph: EntityGraph(version), bases: bases,
          isLocked: locked.contains(version.number), positions: positions, diagnostics: diagnostics
        ).validate()
      }
      result.append(version)
    }
    return (result, current(numbers))
  }

  private func current(_ numbers: Set<Int>) -> Int? {
    guard let current = head?.current else { return numbers.max() }
    if !numbers.contains(current), let location = positions.nearest(to: .model, key: "current") {
      diagnostics.error(
        location, "there is no version \(current); its file would be \(VersionFile.name(of: current))")
    }
    return current
  }

  private func validateBases(of version: ModelVersion, numbers: Set<Int>) {
    for (place, base) in version.basedOn.enumerated() {
      guard let location = positions.nearest(to: .version(version.number), key: "basedOn[\(place)]") else {
        continue
      }
      if base == version.number {
        diagnostics.error(location, "version \(base) cannot be based on itself")
      } else if base > version.number {
        diagnostics.error(
          location, "version \(version.number) can only be based on lower versions, not on \(base)")
      } else if !numbers.contains(base) {
        diagnostics.error(
          location, "there is no version \(base); its file would be \(VersionFile.name(of: base))")
      }
    }
  }
}

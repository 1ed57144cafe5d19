import CDModel

/// Warns of entities whose classes have the names of types of SwiftUI.
enum ShadowedViewTypes {
  /// The types that almost each file with views uses. SwiftUI's `Group`, `Section`, `State` or `Transaction` are not among
  /// them: models of other apps have entities with these names.
  private static let names: Set<String> = [
    "Button", "Color", "Divider", "Font", "Form", "Image", "Label", "List", "Picker", "Slider", "Spacer",
    "Stepper", "Text", "Toggle", "View",
  ]

  /// Checks the newest version, unless it is locked: nobody can change the names of a locked version.
  ///
  /// An entity with a `class:` is not reported. Whoever wrote it has chosen the name.
  static func report(
    _ versions: [ModelVersion], locked: Set<Int>, positions: ElementPositions,
    diagnostics: DiagnosticCollector
  ) {
    guard let version = versions.max(by: { $0.number < $1.number }), !locked.contains(version.number) else {
      return
    }
    for entity in version.entities where names.contains(entity.swiftName) && entity.className == nil {
      let element = SchemaElement.part(.entity(entity.name), version: version.number)
      guard let location = positions.nearest(to: element, key: nil) else { continue }
      let name = entity.swiftName
      diagnostics.warning(
        location,
        "class '\(name)' hides SwiftUI's '\(name)' in files that import both; choose another name with 'class:', or "
          + "keep this one with 'class: \(name)'")
    }
  }
}

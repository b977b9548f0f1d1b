from tally.main import main

raise SystemExit(main())
